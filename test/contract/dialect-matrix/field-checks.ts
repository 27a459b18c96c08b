import assert from 'node:assert/strict';
import type { JsonObject } from '../../../src/kernel/json.ts';
import type { FeatureId } from './features.ts';
import { type Check, type Place, seenIn } from './place.ts';

/** Fields that the formats, or providers, have not in common. */
export const fieldChecks = {
  async 'several-choices'({ ask, caller }: Place) {
    const beside: JsonObject = caller === 'gemini' ? { generationConfig: { candidateCount: 2 } } : { n: 2 };
    const exchange = await ask({ say: 'Hello', beside });
    assert.equal(seenIn(exchange).text, 'Mock answer to: Hello');
    assert.deepEqual(new Set(exchange.text.match(/"index":[01]/g)), new Set(['"index":0', '"index":1']));
  },

  async logprobs({ ask, caller }: Place) {
    const beside = {
      'openai-chat': { logprobs: true, top_logprobs: 2 },
      'openai-responses': { include: ['message.output_text.logprobs'], top_logprobs: 2 },
      gemini: { generationConfig: { responseLogprobs: true, logprobs: 2 } },
      'anthropic-messages': {},
    }[caller];
    const exchange = await ask({ say: 'Hello', beside });
    seenIn(exchange);
    assert.match(exchange.text, /"token":"Mock"/);
    assert.match(exchange.text, /"(top_logprobs|candidates)":\[\{"token"/);
  },

  async seed({ ask, caller, verdict }: Place) {
    const beside: JsonObject = caller === 'gemini' ? { generationConfig: { seed: 4711 } } : { seed: 4711 };
    const { sent, ...exchange } = await ask({ say: 'Hello', beside });
    seenIn({ sent, ...exchange });
    assert.equal(JSON.stringify(sent).includes('"seed":4711'), verdict.kind === 'yes');
  },

  async 'end-user'({ ask, caller, verdict }: Place) {
    const beside = caller === 'anthropic-messages' ? { metadata: { user_id: 'person-4711' } } : { user: 'person-4711' };
    const { sent, ...exchange } = await ask({ say: 'Hello', beside });
    seenIn({ sent, ...exchange });
    assert.equal(JSON.stringify(sent).includes('person-4711'), verdict.kind === 'yes');
  },

  async audio({ ask, caller }: Place) {
    const content = [{ type: 'input_audio', input_audio: { format: 'wav', data: 'UklGRiQA' } }];
    const parts = [{ inlineData: { mimeType: 'audio/wav', data: 'UklGRiQA' } }];
    const beside: JsonObject =
      caller === 'gemini' ? { contents: [{ role: 'user', parts }] } : { messages: [{ role: 'user', content }] };
    const { sent, ...exchange } = await ask({ say: '', beside });
    seenIn({ sent, ...exchange });
    assert.match(JSON.stringify(sent), /"UklGRiQA"/);
  },

  async 'cache-marks'({ ask, verdict }: Place) {
    const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];
    const { sent, ...exchange } = await ask({ say: 'Hello', beside: { system } });
    seenIn({ sent, ...exchange });
    assert.equal(JSON.stringify(sent).includes('cache_control'), verdict.kind === 'yes');
  },

  async 'server-tools'({ ask, caller, verdict }: Place) {
    const tool: JsonObject = {
      'anthropic-messages': { type: 'web_search_20250305', name: 'web_search', max_uses: 1 },
      gemini: { googleSearch: {} },
      'openai-responses': { type: 'web_search' },
      'openai-chat': {},
    }[caller];
    const { sent, ...exchange } = await ask({ say: 'Hello', beside: { tools: [tool] } });
    seenIn({ sent, ...exchange });
    assert.equal(JSON.stringify(sent!.tools ?? []).includes('earch'), verdict.kind === 'yes');
  },

  async 'custom-tools'({ ask }: Place) {
    const beside = { tools: [{ type: 'custom', name: 'apply_patch', description: 'Takes a patch.' }] };
    const exchange = await ask({ say: 'call apply_patch', beside });
    const { calls, turn } = seenIn(exchange);
    assert.deepEqual([calls.length, calls[0]?.name, calls[0]?.argumentsJson], [1, 'apply_patch', 'mock']);
    assert.equal(turn.at(-1)!.type, 'custom_tool_call');
    const results = [{ id: calls[0]!.id, text: 'Patched.' }];
    const next = await ask({ say: 'call apply_patch', beside, answered: { turn, results } });
    assert.match(seenIn(next).text, /^Mock answer/);
    assert.match(JSON.stringify(next.sent), /Patched\./);
  },

  async 'unknown-field'({ ask, caller, verdict }: Place) {
    const beside: JsonObject = caller === 'gemini' ? { generationConfig: { madeUp: 4711 } } : { madeUp: 4711 };
    const exchange = await ask({ say: 'Hello', beside });
    seenIn(exchange);
    assert.equal(JSON.stringify(exchange.sent).includes('"madeUp":4711'), verdict.kind === 'yes');
  },

  async 'kept-history'({ ask, upstream }: Place) {
    const first = await ask({ say: 'Hello there', beside: { store: true } });
    const id = /"id":\s*"(resp_[\w-]+)"/.exec(first.text)![1]!;
    const exchange = await ask({ say: 'And then?', beside: { previous_response_id: id } });
    seenIn(exchange);
    const { previous_response_id: named, ...sent } = exchange.sent!;
    // Only one provider that keeps responses keeps these; all others get the whole text.
    if (upstream === 'openai-responses') assert.equal(named, id);
    else assert.match(JSON.stringify(sent), /Hello there/);
  },
} satisfies Partial<Record<FeatureId, Check>>;
