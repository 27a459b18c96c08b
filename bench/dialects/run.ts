// node bench/run.mjs dialects [caller…]   callers: openai-chat, anthropic-messages, openai-responses, gemini, cohere-chat, bedrock-converse, ai-sdk

import { aiSdk } from '../../src/formats/dialects/ai-sdk/index.ts';
import { anthropicMessages } from '../../src/formats/dialects/anthropic-messages/index.ts';
import { bedrockConverse } from '../../src/formats/dialects/bedrock-converse/index.ts';
import { cohereChat } from '../../src/formats/dialects/cohere-chat/index.ts';
import { gemini } from '../../src/formats/dialects/gemini/index.ts';
import { openAiChat } from '../../src/formats/dialects/openai-chat/index.ts';
import { openAiResponses } from '../../src/formats/dialects/openai-responses/index.ts';
import { finish } from '../results.ts';
import { print, type Row } from '../rows.ts';
import { aiSdkBody } from './ai-sdk.ts';
import { converseBody } from './bedrock.ts';
import { chatBody } from './chat.ts';
import { cohereBody } from './cohere.ts';
import { geminiBody } from './gemini.ts';
import { measureRequests } from './measure-requests.ts';
import { type BothSides, measureStreams } from './measure-streams.ts';
import { messagesBody } from './messages.ts';
import { responsesBody } from './responses.ts';

const bytes = 100_000;
const dialects: readonly BothSides[] = [
  openAiChat,
  anthropicMessages,
  openAiResponses,
  gemini,
  cohereChat,
  bedrockConverse,
];
const bodies = {
  'openai-chat': chatBody,
  'anthropic-messages': messagesBody,
  'openai-responses': responsesBody,
  gemini: geminiBody,
  'cohere-chat': cohereBody,
  'bedrock-converse': converseBody,
  'ai-sdk': aiSdkBody,
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => !(name in bodies));
if (unknown.length > 0) {
  console.error(`No such caller: ${unknown.join(', ')}. Callers: ${Object.keys(bodies).join(', ')}.`);
  process.exit(2);
}

const rows: Row[] = [];
const take = (measured: Iterable<Row>) => {
  for (const row of measured) rows.push(...print([row]));
};
const callers = [...dialects, aiSdk].filter(({ id }) => named.length === 0 || named.includes(id));
for (const caller of callers) take(measureRequests(caller.id, bodies[caller.id as keyof typeof bodies](bytes)));
for (const caller of callers) take(measureStreams(caller, dialects));

finish(
  {
    subject: 'dialects',
    command: 'node bench/run.mjs dialects',
    how: `One thread, no network; the median of rounds, their best beside it. Caller → provider. A request is an agent's with its
tools and history (Messages as Claude Code's, Responses as Codex'), from the bytes that came to those that go out:
parsed, checked, converted, written. A stream's event is one short delta of text, read and written anew, without the
reading of lines; within one format it is only looked at, since the bytes pass.`,
    rows,
  },
  named.length === 0,
);
