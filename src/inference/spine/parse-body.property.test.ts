import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { dialects } from '../../formats/dialects/dialect-table.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { type MemberSurvey, surveyMembers } from '../../kernel/parse-object.ts';

const callers = ['openai-chat', 'anthropic-messages', 'openai-responses', 'gemini'] as const;

/** Spellings that some server takes as the same name. */
const spellings = [
  (name: string) => name,
  (name: string) => name.toUpperCase(),
  (name: string) => name.replace(/^./, (first) => first.toUpperCase()),
  (name: string) => name.replaceAll('s', 'ſ'),
];

for (const id of callers) {
  const { objects } = dialects[id];
  const names = [
    ...objects.members.folded,
    'id',
    'type',
    'input',
    'metadata',
    'annotations',
    'role',
    'content',
    'parts',
  ];
  const name = fc.tuple(fc.constantFrom(...names), fc.constantFrom(...spellings)).map(([plain, spelt]) => spelt(plain));
  const { body } = fc.letrec<{ value: JsonValue; body: JsonObject }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<JsonValue>('file-1', 'message', 'https://a.example/b', 7, null, true),
      fc.array(tie('value'), { maxLength: 3 }),
      tie('body'),
    ),
    body: fc.dictionary(name, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  }));

  test(`20000 generated ${id} bodies: one that names an object at a provider is never taken for one that names none`, () => {
    let naming = 0;
    fc.assert(
      fc.property(body, (sent) => {
        const survey: MemberSurvey = { count: 0, hasNamed: false };
        surveyMembers(sent, objects.members, survey);
        assert.equal(survey.count, JSON.stringify(sent).split('":').length - 1);
        if (objects.find(sent).length === 0) return;
        naming += 1;
        assert.ok(survey.hasNamed, 'its members were taken for none of them');
      }),
      { numRuns: 20_000 },
    );
    assert.ok(naming > 1_000, `${naming} bodies named one`);
  });
}
