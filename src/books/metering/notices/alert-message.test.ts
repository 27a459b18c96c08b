import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AlertMessage, alertSubject, alertText, slackBody, teamsBody } from './alert-message.ts';

test('a storm of alerts names the first thirty to people, and counts the others', () => {
  const raised = Array.from({ length: 500 }, (_, at) => ({
    name: `provider p${at}`,
    severity: 'problem',
    text: `The provider p${at} is down.`,
    fix: 'Test it.',
    since: '2026-11-25T00:00:00.000Z',
  }));
  const message: AlertMessage = { type: 'alerts', timestamp: raised[0]!.since, data: { raised, resolved: [] } };
  for (const text of [alertText(message), (JSON.parse(slackBody(message)) as { text: string }).text]) {
    assert.match(text, /The provider p29 is down/);
    assert.doesNotMatch(text, /p30 /);
    assert.match(text, /\n\nAnd 470 more\. /);
  }
  const { content } = (JSON.parse(teamsBody(message)) as { attachments: [{ content: { body: object[] } }] })
    .attachments[0];
  assert.equal(content.body.length, 31);
  assert.match(JSON.stringify(content.body[30]), /And 470 more\. /);
  assert.equal(alertSubject(message), 'Problem: The provider p0 is down. And 499 more.');
});
