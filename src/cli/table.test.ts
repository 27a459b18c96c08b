import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table } from './table.ts';

const headings = ['capability', 'state', 'by'];
const rows = [
  ['chat', 'simulated', 'no provider yet: set OPENAI_API_KEY, or name a provider in culvert.yaml'],
  ['vectors', 'real', 'embedded, in ./.culvert'],
];

test('a table that fits is as wide as its cells', () => {
  const text = table(headings, rows, 200);
  assert.equal(text.split('\n').length, 3);
  assert.match(text, /^chat {8}simulated {2}no provider yet: .* culvert\.yaml$/m);
});

test('a table fits the terminal: a cell goes on below, in its own column', () => {
  assert.equal(
    table(headings, rows, 60),
    `capability  state      by
chat        simulated  no provider yet: set OPENAI_API_KEY,
                       or name a provider in culvert.yaml
vectors     real       embedded, in ./.culvert`,
  );
});

test('a long heading goes on below before any row does', () => {
  assert.equal(
    table(['user', 'input tokens', 'USD'], [['someone@example.org', '1234', '0.5']], 32),
    `user                 input   USD
                     tokens
someone@example.org  1234    0.5`,
  );
});

test('an id is not cut: a row that does not fit goes on below, indented', () => {
  const id = 'req_01a1fe82-8224-7773-85e0-cbe98d0c0e9d';
  assert.equal(
    table(['time', 'id', 'account', 'model'], [['2026-01-02 03:04:05', id, 'default', 'sim/chat']], 72),
    `time                 id                                        account
  model
2026-01-02 03:04:05  ${id}  default
  sim/chat`,
  );
});

test('no line is wider than the terminal, however narrow, and nothing is lost', () => {
  const id = 'req_01a1fe82-8224-7773-85e0-cbe98d0c0e9d';
  for (const width of [20, 30, 44, 72]) {
    const text = table(['id', 'message'], [[id, 'the provider said no']], width);
    for (const line of text.split('\n')) assert.ok(line.length <= width, `${width}: ${line}`);
    const letters = (said: string) => said.replaceAll(/\s/g, '').split('').sort().join('');
    assert.equal(letters(text), letters(`idmessage${id}the provider said no`));
  }
});

test('control characters steer no terminal', () => {
  assert.equal(table(['a'], [['x\u001b[2Jy']], 80), 'a\nx [2Jy');
});
