import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { commentsOf } from './comments.ts';
import { messagesOf } from './messages.ts';
import { judge, ownWords, passiveShareMax, type Sentence, sentencesOf } from './plain-english.ts';
import { remembered } from './remembered.ts';
import { pages } from './snippets.ts';

const changelog = 'CHANGELOG.md';
const documents = [...pages, 'ARCHITECTURE.md', 'CONTRIBUTING.md', changelog];

function findingsOf(page: string): string[] {
  const judged = sentencesOf(page).map((sentence) => ({ ...sentence, ...judge(sentence) }));
  const whole = judged.filter(({ place, text }) => place === 'prose' && text.endsWith('.'));
  const share = whole.filter(({ passive }) => passive).length / Math.max(10, whole.length);
  return [
    ...judged
      // Its entries keep the words that they were written in.
      .filter(({ fault }) => fault !== null && !(page === changelog && fault.startsWith('a word of ours')))
      .map(({ line, fault, text }) => `${page}:${line}: ${fault}: ${text}`),
    ...(share > passiveShareMax ? [`${page}: ${Math.round(share * 100)} % of its sentences are passive`] : []),
  ];
}

test('pages are in plain English: short sentences with a subject and a verb, mostly active', () => {
  const { find, keep } = remembered('plain-pages', findingsOf);
  const found = documents.flatMap(find);
  keep();
  assert.deepEqual(found, []);
});

test('messages of the server and of commands are in plain English too', () => {
  const sources = globSync('src/**/*.ts').filter((file) => !/\.(?:test|fixture)\.ts$/.test(file));
  const { find, keep } = remembered('plain-messages', (file) =>
    messagesOf(file).flatMap(({ mayLackVerb, ...message }) => {
      const { fault } = judge(message);
      return fault === null || (mayLackVerb && fault === 'no verb')
        ? []
        : [`${file}:${message.line}: ${fault}: ${message.text}`];
    }),
  );
  const found = sources.flatMap(find);
  keep();
  assert.deepEqual(found, []);
});

/** Rooms whose comments have been looked through; the others follow. */
const readRooms = [
  'src/{admin,cli,config,engines,guards,hooks,http,kernel,library,main,net,observe,processes,rules,simulator}/**/*.ts',
  'src/{main.ts,tools/**/*.ts,vectors/**/*.ts}',
  'src/books/**/*.ts',
  'src/formats/**/*.ts',
  'src/inference/{batches,cache,endpoints,guards,hooks,models,server-tools,spine,vector-stores}/**/*.ts',
  'src/inference/families/**/*.ts',
  'src/{routing,stores,upstream}/**/*.ts',
  'web/src/**/*.{ts,tsx}',
];

/** Rooms whose docstrings say what a thing is; the others follow. */
const namedRooms = ['{src,scripts,test/gates,web/src}/**/*.{mjs,ts,tsx}', 'test/*.{mjs,ts}'];

const sourcesOf = (rooms: readonly string[]) =>
  rooms.flatMap((room) => globSync(room)).filter((file) => !/\.(?:test|fixture)\.ts$/.test(file));

test('comments of rooms that were looked through have no words of a private language', () => {
  const sources = sourcesOf(readRooms);
  assert.ok(sources.length > 300);
  const { find, keep } = remembered('plain-comments', (file) =>
    commentsOf(file).flatMap(({ line, text }) => {
      const [word] = ownWords.exec(text) ?? [];
      return word === undefined ? [] : [`${file}:${line}: '${word}': ${text}`];
    }),
  );
  const found = sources.flatMap(find);
  keep();
  assert.deepEqual(found, []);
});

test('docstrings of rooms that were looked through begin with a noun or a verb, not with a clause', () => {
  const sources = sourcesOf(namedRooms);
  assert.ok(sources.length > 600);
  const { find, keep } = remembered('plain-docstrings', (file) =>
    commentsOf(file).flatMap(({ line, text, kind }) =>
      kind === 'docstring' && /^(?:What|Of|Who|As|Those)\b/.test(text) ? [`${file}:${line}: ${text}`] : [],
    ),
  );
  const found = sources.flatMap(find);
  keep();
  assert.deepEqual(found, []);
});

test('the rules find what they are for', () => {
  const faultOf = (text: string, place: Sentence['place'] = 'prose') => judge({ line: 1, text, place }).fault;
  assert.equal(faultOf('An unknown voice returns 400 with the list of voices.'), null);
  assert.equal(faultOf('What is in the file is checked.'), 'a clause in place of the subject');
  assert.equal(faultOf('Free are models and usage.'), 'the verb before its subject');
  assert.equal(faultOf('The caller is told.'), "a word of ours, 'told'");
  assert.equal(faultOf('Failures until the first sound.'), 'no verb');
  assert.equal(faultOf(`A ${'very '.repeat(30)}long cell`, 'cell'), '33 words');
  assert.equal(judge({ line: 1, text: 'The key was revoked by Anna.', place: 'prose' }).passive, true);
});
