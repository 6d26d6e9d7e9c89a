"""What several families use, and what each of them tells (``family``): no family itself."""
