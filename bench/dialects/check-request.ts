// Cost of checking a chat request: our rule tables against an equivalent zod schema.
//   node bench/dialects/check-request.ts
import { z } from 'zod';
import { checkRequest } from '../../src/formats/dialects/openai-chat/request-fields.ts';

const part = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({
    type: z.literal('image_url'),
    image_url: z.looseObject({ url: z.string(), detail: z.string().optional() }),
  }),
  z.looseObject({
    type: z.literal('input_audio'),
    input_audio: z.looseObject({ data: z.string(), format: z.string() }),
  }),
  z.looseObject({ type: z.literal('file'), file: z.looseObject({}) }),
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
]);
const content = z.union([z.string(), z.array(part)]);
const message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content }),
  z.looseObject({ role: z.literal('developer'), content }),
  z.looseObject({ role: z.literal('user'), content, name: z.string().optional() }),
  z.looseObject({
    role: z.literal('assistant'),
    content: content.nullish(),
    tool_calls: z
      .array(
        z.looseObject({
          id: z.string(),
          type: z.literal('function'),
          function: z.looseObject({ name: z.string(), arguments: z.string() }),
        }),
      )
      .nullish(),
  }),
  z.looseObject({ role: z.literal('tool'), content, tool_call_id: z.string() }),
]);
const schema = z.looseObject({
  model: z.string().min(1).max(256),
  messages: z.array(message).min(1),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  n: z.int().min(1).max(128).nullish(),
  stream: z.boolean().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  tools: z
    .array(
      z.looseObject({
        type: z.string(),
        function: z.looseObject({
          name: z.string().regex(/^[\w-]{1,64}$/),
          description: z.string().optional(),
          parameters: z.looseObject({}).optional(),
        }),
      }),
    )
    .max(128)
    .nullish(),
  seed: z.int().nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  user: z.string().max(256).nullish(),
});
function body(messages: number, size: number) {
  return {
    model: 'x',
    temperature: 1,
    stream: true,
    max_tokens: 100,
    messages: Array.from({ length: messages }, (_, i) => ({
      role: i % 2 ? 'assistant' : 'user',
      content: i % 3 ? 'a'.repeat(size) : [{ type: 'text', text: 'a'.repeat(size) }],
    })),
  };
}
for (const [name, b] of [
  ['2 KB', body(6, 300)],
  ['100 KB', body(300, 300)],
] as const) {
  for (const [who, f] of [
    ['zod', () => schema.safeParse(b)],
    ['check', () => checkRequest(b as never)],
  ] as const) {
    for (let i = 0; i < 3000; i++) f();
    const n = name === '2 KB' ? 200000 : 3000;
    const t = process.cpuUsage();
    for (let i = 0; i < n; i++) f();
    const u = process.cpuUsage(t);
    console.log(name, who, ((u.user + u.system) / n).toFixed(2), 'µs');
  }
}
