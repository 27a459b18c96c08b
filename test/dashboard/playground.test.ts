import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastDays } from '../../web/src/pages/own/last-days.ts';
import { noSettings } from '../../web/src/pages/playground/conversation.ts';
import { conversationCall } from '../../web/src/pages/playground/conversation-call.ts';
import { chat } from '../../web/src/pages/playground/formats/chat.ts';
import { snippetsOf } from '../../web/src/pages/playground/snippets.ts';

test('code in Python has other fields in extra_body: its SDK refuses arguments that it does not know', () => {
  const turns = [{ role: 'user', id: '1', text: 'Hi', pictures: [] }] as const;
  const pythonWith = (more: string) => {
    const call = conversationCall(chat, 'smart', turns, { ...noSettings, temperature: '0.5', more });
    return snippetsOf(call, 'http://127.0.0.1:4141', 'laptop').find(({ language }) => language === 'Python')!.text;
  };
  const text = pythonWith('{"prompt": {"id": "greeting"}, "temperature": 0.7}');
  assert.match(text, /^ {4}temperature=0\.7,$/m);
  assert.match(text, /^ {4}extra_body=\{\n {8}"prompt": \{\n {12}"id": "greeting",\n {8}\},\n {4}\},$/m);
  assert.doesNotMatch(text, /prompt=/);
  assert.doesNotMatch(pythonWith(''), /extra_body/);
});

test('days of UTC have their date on a chart in any zone', () => {
  for (const zone of ['UTC', 'America/New_York', 'Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Africa/Cairo']) {
    const written = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone: zone });
    const days = lastDays(Date.parse('2026-05-10T12:00Z'), zone);
    assert.deepEqual(
      days.map(({ atMs }) => written.format(atMs)),
      days.map(({ date }) => date),
      zone,
    );
    assert.deepEqual([days.length, days[0]?.date, days.at(-1)?.date], [30, '2026-04-11', '2026-05-10']);
  }
});
