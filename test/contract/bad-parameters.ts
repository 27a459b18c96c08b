type Json = unknown;

const lookup = { type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } };
const say = (content: Json) => [{ role: 'user', content }];
const long = (length: number) => 'x'.repeat(length);

const noString: Json[] = [5, true, [], {}];
const noBoolean: Json[] = ['true', 1, [], {}];
const noObject: Json[] = ['x', 5, true, []];
const noNumber: Json[] = ['1', true, [], {}];

/** A wrong value of a parameter, what must stand beside it, and the field that the refusal names, if not the parameter. */
export interface Wrong {
  value: Json;
  beside?: Record<string, Json>;
  names?: string;
}

const each = (values: readonly Json[]): Wrong[] => values.map((value) => ({ value }));
const outside = (...values: Json[]): Wrong[] => each([...noNumber, ...values]);

/** Every parameter of the endpoint with values that it must not have. */
export const badParameters: Record<string, readonly Wrong[]> = {
  model: each([null, '', long(257), ...noString]),
  messages: [
    ...each([null, [], 'hi', 5, {}]),
    { value: [5], names: 'messages[0]' },
    { value: [null], names: 'messages[0]' },
    { value: [[]], names: 'messages[0]' },
    { value: [{ content: 'x' }], names: 'messages[0].role' },
    { value: [{ role: 'root', content: 'x' }], names: 'messages[0].role' },
    { value: [{ role: ['user'], content: 'x' }], names: 'messages[0].role' },
    { value: [{ role: 'user' }], names: 'messages[0].content' },
    { value: say(null), names: 'messages[0].content' },
    { value: say(5), names: 'messages[0].content' },
    { value: say({}), names: 'messages[0].content' },
    { value: say([]), names: 'messages[0].content' },
    { value: say(['x']), names: 'messages[0].content[0]' },
    { value: say([{ type: 'text' }]), names: 'messages[0].content[0].text' },
    { value: say([{ type: 'hologram' }]), names: 'messages[0].content[0].type' },
    { value: say([{ type: 'image_url', image_url: { url: 5 } }]), names: 'messages[0].content[0].image_url.url' },
    {
      value: say([{ type: 'image_url', image_url: { url: 'ftp://x.example/a' } }]),
      names: 'messages[0].content[0].image_url.url',
    },
    {
      value: say([{ type: 'input_audio', input_audio: { data: 'AA', format: 'midi' } }]),
      names: 'messages[0].content[0].input_audio.format',
    },
    { value: [...say('x'), { role: 'tool', content: 'x' }], names: 'messages[1].tool_call_id' },
    {
      value: [...say('x'), { role: 'assistant', tool_calls: [{ id: 5, type: 'function' }] }],
      names: 'messages[1].tool_calls[0].id',
    },
  ],
  temperature: outside(-0.01, 2.01, 1e308),
  top_p: outside(-0.01, 1.01),
  frequency_penalty: outside(-2.01, 2.01),
  presence_penalty: outside(-2.01, 2.01),
  max_tokens: outside(0, -1, 1.5, 1e300),
  max_completion_tokens: [...outside(0, -1, 1.5), { value: 5, beside: { max_tokens: 6 }, names: 'max_tokens' }],
  n: outside(0, -1, 129, 1.5),
  seed: outside(1.5, 1e300, -1e300),
  stop: [
    ...each([5, true, {}, ['a', 'b', 'c', 'd', 'e']]),
    { value: ['a', 5], names: 'stop[1]' },
    { value: [null], names: 'stop[0]' },
  ],
  stream: each(noBoolean),
  stream_options: [
    ...noObject.map((value) => ({ value, beside: { stream: true } })),
    { value: { include_usage: 'yes' }, beside: { stream: true }, names: 'stream_options.include_usage' },
    { value: { include_usage: true } },
    { value: { include_usage: true }, beside: { stream: false } },
  ],
  logprobs: each(noBoolean),
  top_logprobs: [
    ...outside(-1, 21, 1.5).map((wrong) => ({ ...wrong, beside: { logprobs: true } })),
    { value: 2 },
    { value: 2, beside: { logprobs: false } },
  ],
  logit_bias: [
    ...each(noObject),
    { value: { 50: 101 }, names: 'logit_bias.50' },
    { value: { 50: -101 }, names: 'logit_bias.50' },
    { value: { 50: 'x' }, names: 'logit_bias.50' },
  ],
  response_format: [
    ...each(noObject),
    { value: {}, names: 'response_format.type' },
    { value: { type: 'yaml' }, names: 'response_format.type' },
    { value: { type: 'json_schema' }, names: 'response_format.json_schema' },
    { value: { type: 'json_schema', json_schema: [] }, names: 'response_format.json_schema' },
    { value: { type: 'json_schema', json_schema: {} }, names: 'response_format.json_schema.name' },
    {
      value: { type: 'json_schema', json_schema: { name: 'has space' } },
      names: 'response_format.json_schema.name',
    },
    {
      value: { type: 'json_schema', json_schema: { name: 'a', schema: 'x' } },
      names: 'response_format.json_schema.schema',
    },
  ],
  tools: [
    ...each(['x', 5, true, {}, Array(1_025).fill({ type: 'function', function: { name: 'a' } })]),
    { value: [5], names: 'tools[0]' },
    { value: [{}], names: 'tools[0].type' },
    { value: [{ type: 'function' }], names: 'tools[0].function' },
    { value: [{ type: 'function', function: {} }], names: 'tools[0].function.name' },
    { value: [{ type: 'function', function: { name: 'a b' } }], names: 'tools[0].function.name' },
    { value: [{ type: 'function', function: { name: '' } }], names: 'tools[0].function.name' },
    { value: [{ type: 'function', function: { name: 'a', parameters: [] } }], names: 'tools[0].function.parameters' },
    {
      value: [lookup, { type: 'function', function: { name: 'a', strict: 'x' } }],
      names: 'tools[1].function.strict',
    },
  ],
  tool_choice: [
    ...[5, true, [], 'maybe'].map((value) => ({ value, beside: { tools: [lookup] } })),
    { value: {}, beside: { tools: [lookup] }, names: 'tool_choice.type' },
    { value: { type: 'function' }, beside: { tools: [lookup] }, names: 'tool_choice.function' },
    {
      value: { type: 'function', function: { name: 'none' } },
      beside: { tools: [lookup] },
      names: 'tool_choice.function.name',
    },
    { value: 'required', names: 'tools' },
    { value: { type: 'function', function: { name: 'lookup' } }, names: 'tools' },
  ],
  parallel_tool_calls: each(noBoolean),
  functions: [...each(['x', 5, {}, []]), { value: [{}], names: 'functions[0].name' }],
  function_call: [...each([5, true, [], 'always']), { value: {}, names: 'function_call.name' }],
  reasoning_effort: each([...noString, '', 'enormous']),
  verbosity: each([...noString, 'chatty']),
  user: each([...noString, long(257)]),
  metadata: each(noObject),
  store: each(noBoolean),
  service_tier: each(noString),
  prediction: [
    ...each(noObject),
    { value: {}, names: 'prediction.type' },
    { value: { type: 'content' }, names: 'prediction.content' },
  ],
  modalities: [...each(['text', 5, {}]), { value: [5], names: 'modalities[0]' }],
  audio: [
    ...each(noObject),
    { value: { format: 'wav' }, names: 'audio.voice' },
    { value: { voice: 'alloy' }, names: 'audio.format' },
  ],
  web_search_options: each(noObject),
  prompt_cache_key: each(noString),
  safety_identifier: each([...noString, long(129)]),
  models: [...each(['m', 5, {}, Array.from({ length: 17 }, () => 'm')]), { value: [''], names: 'models[0]' }],
};
