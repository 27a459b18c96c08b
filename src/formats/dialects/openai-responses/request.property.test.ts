import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeRequest } from '../../../../test/fixtures/decode-request.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { openAiResponses } from './index.ts';

/* A request in this format that is written in it again says the same: every field is there, or listed as lost. */

const word = fc.string({ minLength: 1, maxLength: 8 }).filter((s) => s.trim() !== '');
const part = fc.oneof(
  word.map((text): JsonObject => ({ type: 'input_text', text })),
  fc.constantFrom<JsonObject>(
    { type: 'input_image', image_url: 'https://a.example/a.png', detail: 'high' },
    { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
    { type: 'input_image', file_id: 'file-1', detail: 'auto' },
    { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
    { type: 'input_file', file_url: 'https://a.example/a.pdf' },
    { type: 'input_future', x: 1 },
  ),
);
const said = fc.array(part, { minLength: 1, maxLength: 3 });
/** One text alone comes back as the string that says the same. */
const results = fc.array(part, { minLength: 2, maxLength: 3 });
const exchange = fc
  .record({ asked: said, thought: fc.option(word), answer: word, args: fc.string(), result: fc.oneof(word, results) })
  .map(({ asked, thought, answer, args, result }) => (round: number): JsonObject[] => [
    { type: 'message', role: 'user', content: asked },
    ...(thought === null
      ? []
      : [{ type: 'reasoning', summary: [{ type: 'summary_text', text: thought }], encrypted_content: `e${round}` }]),
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: answer, annotations: [] }] },
    { type: 'function_call', call_id: `c${round}`, name: 'f', arguments: args.trim() === '' ? '{}' : args },
    { type: 'custom_tool_call', call_id: `p${round}`, name: 'patch', input: args },
    { type: 'web_search_call', id: `ws_${round}`, status: 'completed' },
    { type: 'function_call_output', call_id: `c${round}`, output: result as JsonObject[] },
    { type: 'custom_tool_call_output', call_id: `p${round}`, output: answer },
    { type: 'message', role: 'system', content: [{ type: 'input_text', text: answer }] },
  ]);
const input = fc
  .array(exchange, { minLength: 1, maxLength: 3 })
  .map((rounds) => rounds.flatMap((itemsOf, round) => itemsOf(round)));

const body = fc.record(
  {
    model: fc.constant('alias'),
    input,
    max_output_tokens: fc.integer({ min: 1, max: 200_000 }),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    top_logprobs: fc.integer({ min: 1, max: 20 }),
    tools: fc.constant([
      { type: 'function', name: 'f', description: 'F', parameters: { type: 'object', $defs: {} }, strict: false },
      { type: 'custom', name: 'patch', description: 'P', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
      { type: 'web_search', filters: { a: 1 } },
      { type: 'web_search' },
    ]),
    parallel_tool_calls: fc.boolean(),
    text: fc.constantFrom(
      { format: { type: 'text' } },
      { format: { type: 'json_object' }, verbosity: 'low' },
      { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true, description: 'd' } },
    ),
    reasoning: fc.constantFrom({ effort: 'low' }, { effort: 'high', summary: 'auto' }),
    metadata: fc.constant({ a: 'b' }),
    service_tier: fc.constant('flex'),
    prompt_cache_key: word,
    safety_identifier: word,
    truncation: fc.constant('auto'),
    context_management: fc.constant([{ type: 'compaction' }]),
    future_field: fc.jsonValue().map((value) => [value]),
  },
  { requiredKeys: ['model', 'input'] },
);

test('decoded and encoded again, every field is there or listed as lost', () => {
  fc.assert(
    fc.property(body, (asked) => {
      const decoded = decodeRequest(openAiResponses, asked as unknown as JsonObject);
      assert.ok(!isFailure(decoded), JSON.stringify(decoded));
      const encoded = openAiResponses.encodeRequest(decoded, {
        model: 'alias',
        maxOutputTokens: null,
        stream: false,
        omit: [],
      });
      assert.ok(!isFailure(encoded), JSON.stringify(encoded));
      const lost = new Set(encoded.losses.map((loss) => loss.field));
      const sent = encoded.body;
      for (const [name, value] of Object.entries(asked)) {
        if (name === 'tools') assert.deepEqual(sorted(sent.tools), sorted(value), name);
        else if (name === 'max_output_tokens' && (value as number) < 16) assert.ok(lost.has('max_tokens'));
        else assert.deepEqual(sent[name], value, name);
      }
      assert.ok(
        [...lost].every((field) => field === 'max_tokens'),
        [...lost].join(),
      );
      assert.equal(sent.store, false);
    }),
    { numRuns: 300 },
  );
});

/** Their order among each other means nothing. */
function sorted(tools: unknown): unknown {
  return [...(tools as JsonObject[])].map((tool) => JSON.stringify(Object.entries(tool).sort())).sort();
}

test('whatever JSON a body is, it is read or refused by a 400', () => {
  const anyItem = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        type: fc.constantFrom('message', 'function_call', 'function_call_output', 'reasoning', 'custom_tool_call', 'x'),
        role: fc.constantFrom('user', 'assistant', 'system', 'tool'),
        content: fc.jsonValue(),
        call_id: fc.jsonValue(),
        name: fc.jsonValue(),
        arguments: fc.jsonValue(),
        input: fc.jsonValue(),
        output: fc.jsonValue(),
        summary: fc.jsonValue(),
        encrypted_content: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  );
  const anyBody = fc.record(
    {
      model: fc.oneof(fc.constant('m'), fc.jsonValue()),
      input: fc.oneof(fc.jsonValue(), fc.array(anyItem, { maxLength: 4 })),
      tools: fc.oneof(
        fc.jsonValue(),
        fc.array(
          fc.record(
            { type: fc.constantFrom('function', 'custom', 'x'), name: fc.jsonValue(), format: fc.jsonValue() },
            { requiredKeys: [] },
          ),
        ),
      ),
      tool_choice: fc.jsonValue(),
      text: fc.jsonValue(),
      reasoning: fc.jsonValue(),
      include: fc.jsonValue(),
      instructions: fc.jsonValue(),
    },
    { requiredKeys: ['model', 'input'] },
  );
  fc.assert(
    fc.property(anyBody, (asked) => {
      const decoded = decodeRequest(openAiResponses, asked as JsonObject);
      if (isFailure(decoded)) return assert.equal(decoded.kind, 'invalid-request');
      const target = { model: 'm', maxOutputTokens: null, stream: true, omit: [] };
      openAiResponses.encodeRequest(decoded, target);
    }),
    { numRuns: 3_000 },
  );
});
