import { readFileSync } from 'node:fs';
import { createSseReader, type SseEvent } from '../../upstream/transport/sse-reader.ts';
import { CommandFailed } from '../command-failed.ts';
import { printExact, printJson, writeOut } from '../print.ts';
import { createProgress } from '../progress.ts';
import { ask, jsonOf, notCulvert, type ServerFlags, serverAndKey } from '../running-server.ts';
import { firstChatModel } from './models.ts';

export interface ChatFlags extends ServerFlags {
  model?: string;
  system?: string;
  stream: boolean;
  json?: boolean;
  quiet?: boolean;
}

const notComplete = 'The connection ended before the answer did, so the answer is not complete.';
const eventBytesMax = 1024 * 1024;
/** Exit code of shells after Ctrl-C. */
const interruptedCode = 130;

/** `culvert chat`: one question to the running server, its answer to stdout as it comes. */
export async function chat(text: string, flags: ChatFlags): Promise<number> {
  const { url, key } = serverAndKey(flags);
  const left = new AbortController();
  const progress = createProgress(flags, 'waits');
  progress.at(`waiting for the answer of ${url}`);
  process.once('SIGINT', () => left.abort());
  try {
    const body = {
      model: flags.model ?? (await firstChatModel(url, key, left.signal)),
      messages: messagesOf(text === '-' ? readFileSync(0, 'utf8') : text, flags.system),
      stream: flags.stream && !flags.json,
    };
    const init = { method: 'POST', body: JSON.stringify(body), signal: left.signal };
    const response = await ask(url, '/v1/chat/completions', key, init);
    if (body.stream) await writeStream(response, url);
    else await writeWhole(response, url, flags);
    return 0;
  } catch (error) {
    progress.end();
    if (left.signal.aborted) return interruptedCode;
    throw error instanceof CommandFailed ? error : new CommandFailed(notComplete);
  }
}

function messagesOf(text: string, system: string | undefined) {
  const question = { role: 'user', content: text };
  return system === undefined ? [question] : [{ role: 'system', content: system }, question];
}

async function writeWhole(response: Response, url: string, flags: ChatFlags): Promise<void> {
  const answer = (await jsonOf(response, url)) as {
    choices?: { message?: { content?: string | null; refusal?: string } }[];
  } | null;
  if (flags.json) return printJson(answer);
  const message = answer?.choices?.[0]?.message;
  if (message === undefined) throw notCulvert(url);
  printExact(shown(message.content ?? message.refusal ?? ''));
}

/** Ends in a sentence unless the stream said that it was complete: a cut answer must not look like a finished one. */
async function writeStream(response: Response, url: string): Promise<void> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) throw notCulvert(url);
  const reader = createSseReader({ eventBytesMax });
  let ended: 'done' | 'open' = 'open';
  const take = (events: readonly SseEvent[]) => {
    for (const { data } of events) {
      if (data === '[DONE]') ended = 'done';
      else if (textOf(data) !== '') writeOut(shown(textOf(data)));
    }
  };
  try {
    for await (const chunk of response.body!) {
      take(reader.push(Buffer.from(chunk)));
      if (reader.tooLarge) break;
    }
    take(reader.end());
  } finally {
    writeOut('\n');
  }
  if (ended === 'open') throw new CommandFailed(notComplete);
}

function textOf(data: string): string {
  const chunk = JSON.parse(data) as {
    error?: { message?: string };
    choices?: { delta?: { content?: string | null; refusal?: string | null } }[];
  };
  if (chunk.error !== undefined) throw new CommandFailed(chunk.error.message ?? 'The answer ended with an error.');
  const delta = chunk.choices?.[0]?.delta;
  return delta?.content ?? delta?.refusal ?? '';
}

/** A model's words must not steer the terminal. A file gets them as they are. */
function shown(text: string): string {
  if (process.stdout.isTTY !== true) return text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}
