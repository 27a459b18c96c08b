import assert from 'node:assert/strict';
import test from 'node:test';
import { asidesIn } from './asides.ts';
import { bodyOf } from './page-document.ts';
import { textBlocksOf } from './text-blocks.ts';

const prose =
  '<p>The river has carried barges since the fourteenth century, and the town grew where they were unloaded.</p>';
const more =
  '<p>Its first bridge, built of oak, was lost in the flood of 1564; the second one stood for two hundred years.</p>';

const asidesOf = (html: string) => asidesIn(textBlocksOf(bodyOf(html))).map(({ text }) => text.trim());

/** The page, and the parts of it that do not belong to its text. */
const cases: readonly [string, string, readonly string[]][] = [
  ['a page that has nothing but a credit', '<p>x © Jo mixed</p>', []],
  ['a button among paragraphs', `${prose}<div>Share (12)</div>${more}`, ['Share (12)']],
  ['the word of a button within a sentence', `${prose}<p>Please close the gate.</p>${more}`, []],
  ['code of one word', `${prose}<pre>close</pre>${more}`, []],
  ['links below a label', `${prose}<p>Don’t miss</p><p><a href="/a">A b</a></p><p>c</p>${more}`, ['Don’t miss', 'A b']],
  ['links below a heading of the text', `${prose}<h2>See also</h2><ul><li><a href="/a">A b</a></ul>`, []],
  ['a link that says it leads elsewhere', `${prose}<p><a href="/a">Related: c d</a></p>${more}`, ['Related: c d']],
  ['a sentence with a link', `${prose}<p>Related: <a href="/a">c</a> and all that came of it.</p>${more}`, []],
  ['a call to subscribe at the end', `${prose}<p>Subscribe to our letter.</p>`, ['Subscribe to our letter.']],
  ['an item of a list that calls', `${prose}<ul><li>Sign up for the bundle</ul>${more}`, []],
  [
    'the date of an article',
    `<p>Updated: 19 November 2019, 9:01 am</p>${more}`,
    ['Updated: 19 November 2019, 9:01 am'],
  ],
  ['a date among paragraphs', `${prose}<p>19 November 2019</p>${more}`, []],
  ['a date between a head and the text', `<h1>The bridge</h1><p>19 November 2019</p>${more}`, ['19 November 2019']],
  ['a telephone number', `${prose}<p>02-751-1500</p>`, []],
  [
    'a caption written twice',
    `<div>${'The bell of 1564 and its keeper in a hall '}</div><p>The bell of 1564 and its keeper in a hall</p>`,
    ['The bell of 1564 and its keeper in a hall'],
  ],
  [
    'a long call at the end',
    `${prose}<p>For the latest stories about the river and the people who work on its barges, download our app for your phone.</p>`,
    ['For the latest stories about the river and the people who work on its barges, download our app for your phone.'],
  ],
  [
    'a link after words with accents',
    `${prose}<p><a href="/a">Czytaj też: a b c</a></p>${more}`,
    ['Czytaj też: a b c'],
  ],
  [
    'a caption that names its photographer',
    `${prose}<p>The second bridge in winter. Photo: Jane Doe</p>${more}`,
    ['The second bridge in winter. Photo: Jane Doe'],
  ],
  [
    'a label and its author',
    `${prose}${more}<p>About the author</p><p>Jane Doe keeps the bell.</p>`,
    ['About the author', 'Jane Doe keeps the bell.'],
  ],
  [
    'a name and who it is',
    `${prose}${more}<p>Jane Doe</p><p>Jane Doe keeps the bell, and a boat.</p>`,
    ['Jane Doe', 'Jane Doe keeps the bell, and a boat.'],
  ],
  ['a name within the text', `${prose}<p>Jane Doe</p><p>Jane Doe keeps the bell.</p>${more}`, []],
  ['whom to ask', `${prose}${more}<p>Contact:</p><p>Jane Doe, +49 30 1</p>`, ['Contact:', 'Jane Doe, +49 30 1']],
  ['a contact within the text', `${prose}<p>Contact:</p><p>Jane Doe</p>${more}`, []],
  [
    'a date that says what of',
    `${prose}<p>Aktualisiert: 11.04.2020, 10:27 Uhr</p>${more}`,
    ['Aktualisiert: 11.04.2020, 10:27 Uhr'],
  ],
  ['a refrain', `<p>${'Row the boat, row the boat home<br>'.repeat(3)}</p>`, []],
];

for (const [name, html, asides] of cases) {
  test(`of ${name}, ${asides.length === 0 ? 'all' : 'the rest'} is text`, () =>
    assert.deepEqual(asidesOf(html), asides));
}
