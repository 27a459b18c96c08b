import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  call,
  encode,
  losses,
  refusal,
  result,
  say,
  target,
  text,
  turns,
} from '../../../../test/fixtures/encode-messages.ts';
import type { NeutralPart } from '../../neutral/request.ts';

test('leading system and developer messages are the system, with cache marks', () => {
  const cache = { type: 'ephemeral' };
  const { body } = encode({
    messages: [say('system', { type: 'text', text: 'A', cache }), say('developer', 'B', ''), say('user', 'hi')],
  });
  assert.deepEqual(body.system, [
    { type: 'text', text: 'A', cache_control: cache },
    { type: 'text', text: 'B' },
  ]);
});

test('a later system message stays in its place, in the user turn', () => {
  assert.deepEqual(turns(say('user', 'a'), say('assistant', 'b'), say('system', 'now French'), say('user', 'c')), [
    { role: 'user', content: [text('a')] },
    { role: 'assistant', content: [text('b')] },
    { role: 'user', content: [text('now French'), text('c')] },
  ]);
});

test('instructions alone are asked by the user; nothing at all is refused', () => {
  const { body } = encode({ messages: [say('system', 'Say hi.')] });
  assert.equal(body.system, undefined);
  assert.deepEqual(body.messages, [{ role: 'user', content: [text('Say hi.')] }]);
  assert.equal(refusal({ messages: [say('user', '  ')] }), 'messages');
});

test('consecutive tool messages are one user turn, results first, then the user', () => {
  const content = turns(
    say('user', 'go'),
    say('assistant', 'calling', call('a', '{"x":1}'), call('b', '')),
    say('tool', result('a', text('1'))),
    say('user', 'hurry'),
    say('tool', result('b', text('2'))),
  );
  assert.deepEqual(content, [
    { role: 'user', content: [text('go')] },
    {
      role: 'assistant',
      content: [
        text('calling'),
        { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
        { type: 'tool_use', id: 'b', name: 'f', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: '1' },
        { type: 'tool_result', tool_use_id: 'b', content: '2' },
        text('hurry'),
      ],
    },
  ]);
});

for (const wrong of ['{"x":', '[1]', '"s"', '7', 'null']) {
  test(`arguments ${wrong} are sent as _raw and listed`, () => {
    const encoded = encode({
      messages: [say('user', 'a'), say('assistant', call('a', wrong)), say('tool', result('a'))],
    });
    const assistant = (encoded.body.messages as { content: unknown[] }[])[1];
    assert.deepEqual(assistant?.content, [{ type: 'tool_use', id: 'a', name: 'f', input: { _raw: wrong } }]);
    assert.deepEqual(losses(encoded), ['messages[1].tool_calls[0].function.arguments:narrowed']);
  });
}

test('ids that Anthropic refuses are respelled alike in call and result', () => {
  const sent = turns(
    say('user', 'a'),
    say('assistant', call('functions.f:0', '{}')),
    say('tool', result('functions.f:0')),
  );
  assert.equal(JSON.stringify(sent).match(/functions_f_0/g)?.length, 2);
});

test('tool results keep arrays, pictures and is_error', () => {
  const picture: NeutralPart = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', base64: 'AA==' } };
  const sent = turns(
    say('user', 'a'),
    say('assistant', call('a', '{}')),
    say('tool', { type: 'tool-result', callId: 'a', parts: [text('see'), picture], isError: true }),
  );
  assert.deepEqual((sent as unknown[])[2], {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
        ],
        is_error: true,
      },
    ],
  });
});

test('pictures by URL and by data, documents as PDF and as text', () => {
  const of = (part: NeutralPart) => (turns(say('user', part)) as { content: unknown[] }[])[0]?.content[0];
  assert.deepEqual(of({ type: 'image', source: { kind: 'url', url: 'https://a.example/x.png' } }), {
    type: 'image',
    source: { type: 'url', url: 'https://a.example/x.png' },
  });
  assert.deepEqual(
    of({ type: 'document', source: { kind: 'base64', mediaType: 'application/pdf', base64: 'JVBE' }, name: 'a.pdf' }),
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
      title: 'a.pdf',
    },
  );
  assert.deepEqual(of({ type: 'document', source: { kind: 'base64', mediaType: 'text/csv', base64: 'w6QsYg==' } }), {
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data: 'ä,b' },
  });
});

test('thoughts signed by this vendor go back whole, others are left out and listed', () => {
  const thought = (signature: string, vendor: string): NeutralPart => ({
    type: 'reasoning',
    text: 'hm',
    signature,
    vendor,
  });
  const redacted: NeutralPart = { type: 'redacted-reasoning', data: 'x', vendor: 'anthropic-messages' };
  const encoded = encode({
    messages: [
      say('user', 'a'),
      say(
        'assistant',
        thought('s', 'anthropic-messages'),
        redacted,
        thought('', 'anthropic-messages'),
        thought('s', 'gemini'),
        { type: 'reasoning', text: 'x' },
        'b',
      ),
      say('user', 'c'),
    ],
  });
  assert.deepEqual((encoded.body.messages as { content: unknown }[])[1]?.content, [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'redacted_thinking', data: 'x' },
    { type: 'text', text: 'b' },
  ]);
  assert.deepEqual(losses(encoded), Array(3).fill('messages[1].reasoning_content:unsupported'));
});

test('the assistant cannot begin, and on newer models not end', () => {
  const begun = encode({ messages: [say('assistant', 'Hello!'), say('user', 'hi')] });
  assert.deepEqual(
    (begun.body.messages as { role: string }[]).map((turn) => turn.role),
    ['user', 'assistant', 'user'],
  );
  assert.deepEqual(losses(begun), ['messages[0]:narrowed']);
  const open = [say('user', 'a'), say('assistant', '{ ')];
  assert.deepEqual((encode({ messages: open }).body.messages as unknown[])[1], {
    role: 'assistant',
    content: [text('{')],
  });
  const closed = encode({ messages: open }, target('claude-opus-5'));
  assert.deepEqual(
    (closed.body.messages as { role: string }[]).map((turn) => turn.role),
    ['user', 'assistant', 'user'],
  );
  assert.deepEqual(losses(closed), ['messages:narrowed']);
});

test('names, picture detail and strict are left out and listed', () => {
  const picture: NeutralPart = { type: 'image', source: { kind: 'url', url: 'https://a.example/' }, detail: 'low' };
  const encoded = encode({
    messages: [{ ...say('user', 'a', picture), name: 'ann' }],
    tools: [{ name: 'f', strict: true }],
  });
  assert.deepEqual(losses(encoded), [
    'messages[0].name:unsupported',
    'messages[0].content[1].image_url.detail:unsupported',
    'tools[0].function.strict:unsupported',
  ]);
});

test('results that stand after text in one message go first too', () => {
  const sent = turns(say('user', 'a'), say('assistant', call('a', '{}')), say('user', 'so', result('a', text('1'))));
  assert.deepEqual((sent as unknown[])[2], {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'a', content: '1' }, text('so')],
  });
});
