import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { anthropicMessages } from '../../src/formats/dialects/anthropic-messages/index.ts';
import type { AnswerHead, UpstreamDialect } from '../../src/formats/dialects/dialect.ts';
import { gemini } from '../../src/formats/dialects/gemini/index.ts';
import { openAiChat } from '../../src/formats/dialects/openai-chat/index.ts';
import { openAiResponses } from '../../src/formats/dialects/openai-responses/index.ts';
import type { NeutralEvent } from '../../src/formats/neutral/event.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { createSseReader } from '../../src/upstream/transport/sse-reader.ts';
import { titleOf } from './must-hold.ts';
import { assertBalanced, assertPublished, assertPublishedWhole } from './responses-frames.ts';

/*
 * Every answer that is recorded for another dialect, shown to a caller of Responses: what must hold of the one caller
 * must hold of the other.
 */

const head: AnswerHead = {
  fallbackId: 'resp_fallback',
  model: 'alias',
  createdS: 1_750_000_000,
  includeUsage: true,
  echo: {
    settings: { parallel_tool_calls: true, tool_choice: 'auto', temperature: null, top_p: null, metadata: {} },
  },
};

const here = import.meta.dirname;
const sources: readonly { what: string; dialect: UpstreamDialect; folder: string; file: string }[] = [
  { what: 'Messages', dialect: anthropicMessages, folder: here, file: 'answer.sse' },
  { what: 'Gemini', dialect: gemini, folder: join(here, 'gemini'), file: 'answer.sse' },
  { what: 'chat', dialect: openAiChat, folder: join(here, '../recorded/openai-chat'), file: 'stream.sse' },
];

for (const { what, dialect, folder, file } of sources) {
  for (const name of readdirSync(folder).filter((entry) => existsSync(join(folder, entry, file)))) {
    const bytes = readFileSync(join(folder, name, file));

    test(`${titleOf(name)}: an answer over ${what}, streamed and whole`, () => {
      const events = eventsIn(dialect, [bytes]);
      const { frames, whole } = show(events);
      const failed = events.at(-1)?.type === 'failed';
      assertPublished(frames);
      const response = assertBalanced(frames, failed ? 'truncated' : 'whole');
      if (failed) return assert.equal(response, null, 'a cut answer has no end');
      assert.deepEqual(whole, response, 'the whole answer is what the stream ends with');
      assertPublishedWhole(whole);
      assert.deepEqual(chatOf(readBack(frames)), chatOf(events), 'what we wrote, we read as it was');
    });

    test(`${titleOf(name)}: an answer over ${what} reads the same wherever it is cut`, () => {
      const { frames } = show(eventsIn(dialect, [bytes]));
      const oneByOne = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
      assert.equal(show(eventsIn(dialect, oneByOne)).frames, frames);
    });
  }
}

function eventsIn(dialect: UpstreamDialect, pieces: readonly Buffer[]): NeutralEvent[] {
  const reader = createSseReader({ eventBytesMax: 1024 * 1024 });
  const decoder = dialect.decodeStream();
  const events: NeutralEvent[] = [];
  for (const piece of pieces) for (const event of reader.push(piece)) events.push(...decoder.step(event));
  for (const event of reader.end()) events.push(...decoder.step(event));
  return [...events, ...decoder.finish()];
}

function show(events: readonly NeutralEvent[]): { frames: string; whole: JsonObject } {
  const encoder = openAiResponses.encodeStream(head);
  const fold = openAiResponses.fold(head);
  let frames = '';
  for (const event of events) {
    frames += encoder.step(event);
    fold.add(event);
  }
  return { frames, whole: fold.result() };
}

function readBack(frames: string): NeutralEvent[] {
  return eventsIn(openAiResponses, [Buffer.from(frames)]);
}

/** What a caller of chat sees of it: no ids, no proofs, and of several choices the first. */
function chatOf(events: readonly NeutralEvent[]): JsonObject {
  const fold = openAiChat.fold(head);
  for (const event of events) {
    if ('choice' in event && event.choice !== 0) continue;
    // Responses has no place for the borders of texts, and of speech only for the words.
    if (event.type === 'logprobs') continue;
    if (event.type === 'audio-delta') {
      const { choice, audio } = event;
      if (typeof audio.transcript === 'string') fold.add({ type: 'text-delta', choice, text: audio.transcript });
      continue;
    }
    if (event.type === 'tool-call-start') {
      const { type, choice, call, name } = event;
      fold.add({ type, choice, call, name, id: `call_${call}` });
    } else fold.add(event);
  }
  const { choices, usage } = fold.result() as { choices: JsonObject[]; usage: JsonObject };
  const [{ message: shown, finish_reason }] = choices as [{ message: JsonObject; finish_reason: string }];
  const { reasoning_details: _, ...message } = shown;
  const { prompt_tokens, completion_tokens } = usage;
  return {
    message,
    finish_reason,
    prompt_tokens: prompt_tokens!,
    completion_tokens: completion_tokens!,
  };
}
