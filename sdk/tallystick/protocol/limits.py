"""Every limit of the wire and of the door, one named constant each: unit last in the name, reason beside it.

What a client meets as a limit is served by ``tallystick_limits``; nothing else in the product repeats a
number. Sources: KCP sections 1.3 and 1.7; RFC 7493 for the safe integers.
"""

from typing import Final

# --- what one request or reply may be ---------------------------------------------------------------------
REQUEST_BYTES_MAX: Final = 262_144
"""One request line without its newline (KCP 1.3)."""
REPLY_BYTES_MAX: Final = 1_048_576
"""One reply line without its newline (KCP 1.3); a command's result is judged by it inside its transaction."""
OVERSIZE_LINE_DISCARD_BYTES_MAX: Final = 16 * 2**20
"""A longer line than a request may be is read and dropped up to here, so that its connection lives on."""
DEPTH_MAX: Final = 64
"""Nested containers: a parser without recursion limits is a way to end a process."""
NODES_MAX: Final = 65_536
"""JSON values in one text: bounds the memory that a request of the permitted size can be unpacked into."""
LIST_ITEMS_MAX: Final = 256
"""Items of a list anywhere in a request or in a command's result (KCP 1.3)."""
SAFE_INTEGER_MAX: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly (RFC 7493)."""
CANONICAL_DEPTH_MAX: Final = 128
"""Nested containers of a value that is digested: a request's depth and what wraps it; a cycle ends here."""

# --- what one value may be --------------------------------------------------------------------------------
IDENTIFIER_BYTES_MAX: Final = 128
"""Visible ASCII, so bytes and characters agree (KCP 1.3)."""
SELECTOR_BYTES_MAX: Final = 256
"""Selectors of scopes (KCP 1.3)."""
DISPLAY_NAME_SCALARS_MAX: Final = 256
"""Names and titles, in Unicode scalar values (KCP 1.3)."""
FREE_TEXT_SCALARS_MAX: Final = 4_096
"""Reasons, purposes and descriptions (KCP 1.3)."""
INLINE_TEXT_SCALARS_MAX: Final = 65_536
"""One text part of a contribution (KCP 1.3)."""
INLINE_PAYLOAD_BYTES_MAX: Final = 65_536
"""The payload member of an event envelope, as raw text (KCP 1.3)."""
CURSOR_CHARS_MAX: Final = 4_096
"""Cursors are opaque, and short in practice (KCP 1.3)."""
MEDIA_TYPE_CHARS_MAX: Final = 128
"""RFC 9110 token/token (KCP 1.3)."""
LANGUAGE_TAG_CHARS_MAX: Final = 64
"""BCP 47 shape (KCP 1.3)."""
EVENT_TYPE_CHARS_MAX: Final = 128
"""Reverse-domain names with a major version (KCP 1.3)."""
RETRY_AFTER_SECONDS_MAX: Final = 86_400
"""What a rate-limited client may be told to wait (KCP 1.6)."""
PROBLEM_TITLE_SCALARS_MAX: Final = 4_096
"""The title of a problem (KCP 1.6)."""
PROBLEM_DETAIL_SCALARS_MAX: Final = 65_536
"""The detail of a problem (KCP 1.6); ours are a sentence or two."""
PROBLEM_INSTANCE_CHARS_MAX: Final = 2_048
"""The instance of a problem, a URI reference (KCP 1.6)."""
MODEL_PROMPT_SCALARS_MAX: Final = 131_072
"""The prompt of a model call (KCP appendix A); its line is bounded in bytes besides."""
MODEL_SYSTEM_SCALARS_MAX: Final = 16_384
"""The system text of a model call (KCP appendix A)."""
MODEL_OBSERVATION_SCALARS_MAX: Final = 1_024
"""What was seen of a model call whose outcome is not known (KCP appendix A)."""

# --- coordination -----------------------------------------------------------------------------------------
REPOSITORY_CHARS_MAX: Final = 128
"""A repository's label, such as a host and a path."""
PATH_BYTES_MAX: Final = 512
"""One path in a repository, in UTF-8."""
PLACE_PATHS_MAX: Final = 64
"""The paths of one place."""

DECISION_KEY_CHARS_MAX: Final = 128
"""A decision's key, its dots included."""
DECISION_LINKS_MAX: Final = 16
"""What one decision supersedes, narrows, excludes or is tagged with, of each."""
DECISION_DEPENDS_ON_MAX: Final = 64
"""What one decision rests on."""
DECISIONS_COMPARED_MAX: Final = 64
"""Decisions that a new one is compared with; more have to be settled first."""
DECISIONS_OF_KEY_MAX: Final = 1_024
"""Standing decisions of one key in a space."""
DECISIONS_EARLIER_MAX: Final = 16
"""Of a key's decisions that no longer stand, so many are told with what is current."""

# --- artifacts --------------------------------------------------------------------------------------------
ARTIFACT_UPLOAD_BYTES_MAX: Final = 64 * 2**20
"""An artifact that is begun by ``artifact_upload_begin`` (KCP section 8)."""
ARTIFACT_BYTES_MAX: Final = 2**30
"""An artifact that is begun by ``tallystick_artifact_begin``: sealing it takes seconds and little memory."""
ARTIFACT_CHUNK_BYTES_MAX: Final = 2**17
"""One chunk of an upload over the socket: as base64 it fits a request with room for everything else."""
ARTIFACT_READ_BYTES_MAX: Final = 2**19
"""One chunk of a download: as base64 it fits a reply."""
UPLOAD_SECONDS_MAX: Final = 3_600
"""From an upload's begin to its finalize (KCP section 8); its first finalize gives it as long again."""
AGENT_OPEN_UPLOADS_MAX: Final = 16
"""Of one agent: what it declares and never finalizes fills no more of the disk than so many."""

# --- what one read may be ---------------------------------------------------------------------------------
PAGE_ITEMS_MAX: Final = 512
"""A page also ends where the next item would not fit the reply; it holds one item at least (KCP 1.3)."""
WAIT_MS_MAX: Final = 30_000
"""Longest sleep of events_wait; a longer time-out asked for is cut to it (KCP 1.2)."""
READ_TRANSACTION_MS_MAX: Final = 250
"""A read transaction that runs longer is interrupted, since the write-ahead log cannot be reset under it."""
READS_A_TURN_MS_MAX: Final = 4
"""Reading in one turn of the door's loop; what is left waits for the next, so that commands get through."""
SNAPSHOT_SECONDS_MIN: Final = 900
"""A list's snapshot can be continued at least this long."""

# --- the clerk --------------------------------------------------------------------------------------------
BATCH_COMMANDS_MAX: Final = 256
"""Commands in one transaction: bounds how long the first of them waits for the last."""
OUTBOX_DRAIN_ROWS_MAX: Final = 512
"""Outbox rows deleted in one transaction, so that draining a backlog delays nobody."""
AUDIT_REFUSALS_PER_MINUTE_MAX: Final = 600
"""Refusals of one actor beyond this are one row with a count, so that nobody fills the record with junk."""

# --- leases -----------------------------------------------------------------------------------------------
LEASE_TERM_SECONDS_MIN: Final = 10
"""Shorter terms lapse under an ordinary pause of a machine."""
LEASE_TERM_SECONDS_MAX: Final = 86_400
"""A day: an invocation's deadline may be years away, a worker's silence should not be trusted that long."""
LEASE_TERM_SECONDS_BARE_MIN: Final = 900
"""What a client that names no term gets at least: it does not know that it must renew."""
INVOCATION_LAPSED_ATTEMPTS_MAX: Final = 5
"""Attempts of one invocation whose worker was never heard of again: a sixth would end as they did."""
LEASE_TERM_SECONDS_SDK: Final = 60
"""What the SDK asks for; it renews at a third."""

# --- the door ---------------------------------------------------------------------------------------------
CONNECTIONS_MAX: Final = 8_192
"""Open connections in all; bounded further by the descriptors that the process may have."""
DESCRIPTORS_RESERVED: Final = 64
"""Descriptors kept for the database, its readers, logs and the listeners themselves."""
SHARE_OWNER_CONNECTIONS_MIN: Final = 64
"""Of connections and of requests in flight so many are the owner's sockets' alone, and a part more."""
SHARE_OWNER_CONNECTIONS_PARTS: Final = 16
"""A sixteenth of all is the owner's sockets' too: whoever runs the daemon gets in, whatever agents do."""
SHARE_AGENT_CONNECTIONS_PARTS: Final = 8
"""Of the rest one agent has at most an eighth, and all agents together have at most three quarters."""
PIPELINED_REQUESTS_MAX: Final = 64
"""Requests of one connection taken before its earlier ones are answered; more wait in the kernel's buffer."""
PIPELINED_BYTES_MAX: Final = 4 * REQUEST_BYTES_MAX
"""The same in bytes: a connection's untouched lines may hold no more memory than this and one read."""
REFUSED_AT_ONCE_BYTES_MAX: Final = 8_192
"""A longer line that is no strict JSON is read for the reason on a thread: in the loop others would wait."""
RECEIVE_BYTES_MAX: Final = 65_536
"""One read of a connection, before others are served."""
REQUESTS_A_TURN_MAX: Final = 64
"""Requests that one connection may start before others are served."""
CONNECTIONS_A_TURN_MAX: Final = 64
"""Connections taken from one listener before those that are open are served."""
CONNECTIONS_BACKLOG_MAX: Final = 4_096
"""Connections that the kernel keeps for us while we are busy; it cuts this to its own limit."""
REFUSED_CONNECTIONS_A_SECOND_MAX: Final = 64
"""Connections over the cap that are told so; further ones are closed without a word, which costs less."""
CAPACITY_RETRY_SECONDS: Final = 1
"""When to come again, said where a cap is reached: what reaches a cap is a burst, and soon over."""
REQUESTS_IN_FLIGHT_MAX: Final = 16_384
"""Requests accepted and not yet answered, over all connections; waits do not count."""
FIRST_REQUEST_SECONDS_MAX: Final = 30
"""A connection that says nothing is a descriptor lost."""
IDLE_SECONDS_MAX: Final = 3_600
"""Between two requests of one connection; an SDK connects again without its caller noticing."""
LINE_SECONDS_MAX: Final = 30
"""From the first byte of a request to its newline."""
REPLY_READ_SECONDS_MAX: Final = 30
"""A client that does not read its reply holds memory: it is disconnected when nothing moved for so long."""
REPLY_BACKLOG_BYTES_MAX: Final = 4 * 2**20
"""Replies of one connection not yet taken by its client; above it no further request of it is started."""
ACCEPT_RETRY_SECONDS: Final = 0.1
"""Pause of accept after the process ran out of descriptors."""
DRAIN_PASSES_MAX: Final = 4
"""Further looks for requests before a batch is cut; measured: one pass splits the clients into two groups."""
ANSWER_AFTER_ERRAND_SECONDS_MAX: Final = 5
"""Longest that the reply of a redaction or an erasure waits until nothing is left in the files: as a rule it
takes milliseconds, and a disk or a reader that stands in the way is not waited for without end."""
DRAIN_SECONDS_MAX: Final = 20
"""From SIGTERM to the end: service managers commonly kill after 90."""

# --- signed statements ------------------------------------------------------------------------------------
STATEMENT_BYTES_MAX: Final = 4_096
"""What a person signs is read by that person first: a verdict is shorter than 1,200 bytes, and only the
deciders of a gate have no fixed number."""
SIGNATURE_BYTES_MAX: Final = 8_192
"""A signature as it is sent, armored or not; one of an RSA key of 16,384 bits is shorter."""

GATE_TERM_SECONDS_MIN: Final = 60
"""Of an opening: a person needs longer than that to read what they decide."""
GATE_TERM_SECONDS_MAX: Final = 2_592_000
"""Thirty days: what nobody has decided by then is asked again."""
GATE_TERM_SECONDS_DEFAULT: Final = 86_400
"""A day: whoever decides has slept over it once."""
GATE_DECIDERS_ITEMS_MAX: Final = 32
"""Agents and signers that a gate names, of each: a statement has to hold them all."""
SIGNER_KEYS_MAX: Final = 64
"""Active keys of persons: each of them is one that somebody has to keep safe."""

# --- the daemon's settings --------------------------------------------------------------------------------
SETTINGS_BYTES_MAX: Final = 65_536
"""The file tallyd.toml: a person writes a few lines, and what is longer is another file."""

# --- the daemon's log -------------------------------------------------------------------------------------
LOG_LINES_QUEUED_MAX: Final = 1_024
"""Lines that wait for whoever reads the daemon's log; further ones are dropped and counted."""
LOG_LINES_ALIKE_MAX: Final = 5
"""Different lines for one reason in ``LOG_ALIKE_SECONDS``; the rest is one line with a count."""
LOG_ALIKE_SECONDS: Final = 60.0
"""How long lines for one reason are counted before their number is said."""

# --- the store --------------------------------------------------------------------------------------------
WAL_GATE_BYTES: Final = 8 * 2**20
"""Above this new read transactions wait until the clerk has reset the write-ahead log."""
WAL_BYTES_MAX: Final = 32 * 2**20
"""What the write-ahead log never exceeds, readers or not; asserted by the tests."""
MARKER_SECONDS_MIN: Final = 1.0
"""The marker beside the database is written at most this often while commands are committed."""
IDEMPOTENCY_SECONDS_MIN: Final = 7 * 86_400
"""A key gives its stored result at least this long, by the daemon's clock: who was off for days still learns
what became of a command. The SDK keeps its keys as long."""
