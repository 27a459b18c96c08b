/** The revision without sessions: every message states its version, and is answered alone. */
export const statelessVersion = '2026-07-28';
/** Names a member of `_meta` by which a message states what others say in `initialize`. */
export const statelessMeta = (name: string) => `io.modelcontextprotocol/${name}`;
