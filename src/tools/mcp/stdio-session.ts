import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { McpFault } from './mcp-fault.ts';
import { type CallBounds, type McpSession, openSession } from './session.ts';

/** A program of the operator's, as the configuration file names it. */
export interface Program {
  command: string;
  args: readonly string[];
  /** Variables besides PATH, HOME and a few more: nothing of our own environment, which holds secrets. */
  env: Readonly<Record<string, string>>;
  /** Size of one answer. A longer one ends the session. */
  bytesMax: number;
}

/** Starts the program without a shell. Closing the session ends it, if need be by SIGKILL. */
export function openStdioSession(
  { command, args, env, bytesMax }: Program,
  bounds: CallBounds & { version: string },
): Promise<McpSession | McpFault> {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    stderr: 'ignore',
    maxBufferSize: bytesMax,
  });
  return openSession(transport, { ...bounds, secrets: Object.values(env) });
}
