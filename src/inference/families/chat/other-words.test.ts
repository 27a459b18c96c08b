import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { scanJson } from '../../../kernel/json.ts';
import { jsonDepthMax } from '../../../kernel/limits.ts';
import { readAgain } from './other-words.ts';

test('results of twenty thousand calls are given to these in a moment', () => {
  const ids = Array.from({ length: 20_000 }, (_, at) => `call_of_${at}`);
  const body: JsonObject = {
    model: 'm',
    messages: [
      { role: 'assistant', tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f' } })) },
      ...ids.toReversed().map((id) => ({ role: 'tool', tool_call_id: id, content: '' })),
    ],
  };
  const raw = Buffer.from(JSON.stringify(body));
  const before = process.cpuUsage();
  const read = readAgain(raw, { body, scan: scanJson(raw, jsonDepthMax) }, 'openai-chat', invalid(null, 'no'));
  const ms = process.cpuUsage(before).user / 1_000;
  assert.ok(isFailure(read));
  assert.ok(ms < 1_500, `${ms} ms`);
});
