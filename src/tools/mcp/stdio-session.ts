import { setImmediate as nextTurn } from 'node:timers/promises';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { scrub } from '../../formats/providers/scrub.ts';
import { spellingsOf } from '../../kernel/secret-spellings.ts';
import { McpFault } from './mcp-fault.ts';
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

/** End of the program's stderr that a fault of its start may quote. */
const stderrCharsMax = 4_000;

/**
 * Starts the program without a shell. Closing the session ends it, if need be by SIGKILL. The fault of a program that does
 * not start quotes what it wrote last.
 */
export async function openStdioSession(
  { command, args, env, bytesMax }: Program,
  bounds: CallBounds & { version: string },
): Promise<McpSession | McpFault> {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    stderr: 'pipe',
    maxBufferSize: bytesMax,
  });
  let written: string | null = '';
  // Read to the end of the session: a full pipe would stop the program.
  transport.stderr?.on('data', (chunk: Buffer) => {
    if (written !== null) written = (written + chunk.toString('utf8')).slice(-stderrCharsMax);
  });
  const session = await openSession(transport, { ...bounds, secrets: Object.values(env) });
  // What it wrote comes right after its end.
  if (session instanceof McpFault) await nextTurn();
  const lines = lastLines(written);
  written = null;
  return session instanceof McpFault ? faultOfStart(session, lines, [...Object.values(env), ...args]) : session;
}

function faultOfStart({ reason, message, retryAfterMs }: McpFault, lines: string, values: readonly string[]): McpFault {
  const why = message.replace(
    'could not be reached (ENOENT)',
    'could not be started: its command was not found (ENOENT)',
  );
  // Arguments and variables may be keys. Short ones are words of any text.
  const secrets = values.filter(({ length }) => length >= secretCharsMin).flatMap(spellingsOf);
  const quoted = scrub(lines, { secrets, hosts: [] });
  return new McpFault(reason, quoted === '' ? why : `${why}; it wrote: ${quoted}`, retryAfterMs);
}

const secretCharsMin = 8;
const linesMax = 4;

/** The last lines that are no part of a stack. */
function lastLines(text: string): string {
  const lines = text.split(/\r?\n/).filter((line) => /^\S/.test(line) && !/^(Traceback |Node\.js v)/.test(line));
  return lines.slice(-linesMax).join('\n');
}
