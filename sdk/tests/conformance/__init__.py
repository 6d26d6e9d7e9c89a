"""KCP's published vectors, judged by the functions that the door and the encoder call; and our own.

KCP's data lies where $KCP_DATA says, else beside the repository; without it these tests are skipped, with the
reason. No vector's name or value stands in the product, and no schema judges a vector: the schemas only
validate what the daemon answers (`schemas`).
"""
