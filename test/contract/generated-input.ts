import fc from 'fast-check';
import { badParameters } from './bad-parameters.ts';

/* Generators of request bodies that range from nearly right to noise. */

const names = Object.keys(badParameters).filter((name) => name !== 'model' && name !== 'messages');
const word = fc.constantFrom(
  'auto',
  'none',
  'required',
  'function',
  'custom',
  'text',
  'image_url',
  'json_schema',
  'json_object',
  'x',
  '',
  'lookup',
  'data:image/png;base64,AA',
  'https://x.example/a.png',
  '\ud800',
  '__proto__',
  'a\r\nb: c',
  '\u0000',
  '👋',
);
const number = fc.constantFrom(0, 1, -1, 2, 0.5, 8, 128, 1e21, 2 ** 53, -(2 ** 63));
const leaf = fc.oneof(word, number, fc.boolean(), fc.constant(null), fc.jsonValue({ maxDepth: 2 }));
const memberName = fc.constantFrom(
  'type',
  'function',
  'name',
  'arguments',
  'parameters',
  'strict',
  'json_schema',
  'schema',
  'content',
  'text',
  'image_url',
  'url',
  'detail',
  'input_audio',
  'data',
  'format',
  'file',
  'id',
  'tool_calls',
  'include_usage',
  'custom',
  'cache_control',
  'properties',
  '__proto__',
  'constructor',
);
const { value } = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('value'), { maxLength: 3 }), tie('object')),
  object: fc.dictionary(memberName, tie('value'), { maxKeys: 4 }),
}));

const role = fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function', 'root');
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.oneof(word, value) }),
  fc.record({ type: fc.constant('image_url'), image_url: fc.oneof(fc.record({ url: word }), value) }),
  fc.record({ type: word, text: value, file: value, input_audio: value }, { requiredKeys: ['type'] }),
);
const message = fc.record(
  {
    role: fc.oneof({ weight: 9, arbitrary: role }, { weight: 1, arbitrary: value }),
    content: fc.oneof(word, fc.array(part, { maxLength: 3 }), value),
    name: fc.oneof(word, value),
    tool_calls: fc.oneof(
      fc.array(fc.record({ id: word, type: word, function: fc.record({ name: word, arguments: word }) }), {
        maxLength: 2,
      }),
      value,
    ),
    tool_call_id: fc.oneof(word, value),
    function_call: value,
    reasoning_content: value,
    refusal: value,
  },
  { requiredKeys: ['role'] },
);

const plainMessages = fc.constant([{ role: 'user', content: 'Hello' }]);

/** Right except for some parameters. */
export const oddParameters = fc
  .tuple(fc.dictionary(fc.constantFrom(...names), fc.oneof(leaf, value), { minKeys: 1, maxKeys: 4 }), plainMessages)
  .map(([fields, messages]): object => ({ model: 'chat', messages, ...fields }));

/** A wrong value of the table, beside arbitrary others. */
export const wrongParameters = fc
  .constantFrom(
    ...Object.entries(badParameters).flatMap(([name, wrongs]) => wrongs.map((wrong) => ({ name, ...wrong }))),
  )
  .chain((wrong) =>
    fc.record({
      wrong: fc.constant(wrong),
      // Well-formed ones: half a surrogate pair among them would be the first fault.
      body: fc
        .dictionary(
          // Names that differ in their case alone would be the first fault as well.
          fc.string({ minLength: 1 }).map((name) => `x_${name.toLowerCase()}`),
          fc.jsonValue({ maxDepth: 2 }),
          { maxKeys: 3 },
        )
        .map((extra) => ({
          ...extra,
          model: 'chat',
          messages: [{ role: 'user', content: 'Hello' }],
          ...wrong.beside,
          [wrong.name]: wrong.value,
        })),
    }),
  );

export const oddMessages = fc
  .record(
    { messages: fc.oneof(fc.array(message, { maxLength: 4 }), value), tools: value },
    { requiredKeys: ['messages'] },
  )
  .map((fields): object => ({ model: 'chat', ...fields }));

const valid = JSON.stringify({
  model: 'chat',
  messages: [
    { role: 'system', content: 'Kurz, bitte. \u00fc' },
    { role: 'user', content: [{ type: 'text', text: 'a "quoted" \\ \n 👋' }] },
  ],
  temperature: 0.5,
  tools: [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object', properties: {} } } }],
  stream: false,
});

/** A right body with one to three bytes gone, doubled, replaced or cut behind. */
export const brokenText = fc
  .array(
    fc.record({
      at: fc.double({ min: 0, max: 0.999, noNaN: true }),
      how: fc.constantFrom('drop', 'double', 'replace', 'cut'),
      byte: fc.oneof(fc.constantFrom(...Buffer.from('{}[]":,\\ue019-.\0\xff', 'latin1')), fc.nat(255)),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((edits) => {
    let bytes = [...Buffer.from(valid)];
    for (const { at, how, byte } of edits) {
      const i = Math.floor(at * bytes.length);
      if (how === 'drop') bytes.splice(i, 1);
      else if (how === 'double') bytes.splice(i, 0, bytes[i] ?? byte);
      else if (how === 'replace') bytes[i] = byte;
      else bytes = bytes.slice(0, i);
    }
    return Buffer.from(bytes);
  });

export const noise = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc
    .string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'model', 'e9', '1', ' '), maxLength: 80 })
    .map((text) => Buffer.from(text)),
);

export const asBytes = (body: object): Buffer => Buffer.from(JSON.stringify(body));
