import { type Fault, faultTable } from './faults/fault-table.ts';

export interface FaultHelp {
  name: string;
  example: string;
  help: string;
}

const entries: readonly [string, Fault<unknown>][] = Object.entries(faultTable);

export const faultHelp: readonly FaultHelp[] = [
  ...entries.map(([name, fault]) => ({ name, example: fault.example, help: fault.help })),
  { name: 'header.<name>', example: 'header.x-request-id=abc', help: 'Sends this response header.' },
];

/** The text that `GET /_mock` and `culvert mock --faults` print: a line for each fault, and the ways to ask for one. */
export function mockHelp(): string {
  const width = Math.max(...faultHelp.map((fault) => fault.example.length)) + 2;
  const lines = faultHelp.map((fault) => `  ${fault.example.padEnd(width)}${fault.help}`);
  return `culvert mock: an upstream that answers, or fails, on command.

It speaks OpenAI's and Anthropic's formats: POST …/chat/completions, …/responses, …/completions, …/messages,
…/messages/count_tokens, …/embeddings, …/moderations, …/rerank, …/audio/speech, …/audio/transcriptions,
…/audio/translations, …/images/generations, …/images/edits, GET …/models and …/audio/voices, under any base path.

Ask for faults, several parted by ';' (percent-encode a ';' in a value as %3B):
  in a header            x-mock: status=503;retry-after=2
  in the model's name    "model": "mock/status=503;retry-after=2"
  in a script            POST /_mock/script {"/v1/chat/completions": ["3x status=503", "ok", "always cut=120"]}
The script goes first, and consumes an entry per request; its queues are named by path, by path and key
("/v1/chat/completions sk-a"), or "*".

  GET /_mock/requests[?since=<ms>]   what came in: path, method, headers, body, aborted, at_ms, ended_ms, bytes_sent
  DELETE /_mock                      forgets script and requests

Faults:
${lines.join('\n')}
`;
}
