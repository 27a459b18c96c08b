/** Why an MCP server elsewhere gave nothing. */
export interface McpFault {
  kind: 'mcp-fault';
  /**
   * `blocked`: the guard refused its address. `unauthorized`: it wants other credentials. `session-lost`: it forgot the
   * session, and a new one may do. `refused`: it answered with an error of the protocol or of HTTP. `broken`: what came
   * is no answer. `aborted`: nobody waits any more.
   */
  reason:
    | 'blocked'
    | 'unreachable'
    | 'unauthorized'
    | 'session-lost'
    | 'refused'
    | 'timeout'
    | 'too-large'
    | 'broken'
    | 'aborted';
  /** Says what the server did, such as `took longer than 30 s`. It names no address and no credential. */
  message: string;
}

export function mcpFault(reason: McpFault['reason'], message: string): McpFault {
  return { kind: 'mcp-fault', reason, message };
}

export function isMcpFault(value: object): value is McpFault {
  return 'kind' in value && value.kind === 'mcp-fault';
}
