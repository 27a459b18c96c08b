import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { segmentsOfWords, type TimedText, writeSrt, writeVtt } from './subtitles.ts';

const two: TimedText[] = [
  { startS: 0, endS: 1.5, text: ' Hello there.' },
  { startS: 3_661.0425, endS: 3_662, text: 'Bye <now> & then.' },
];

test('srt numbers its cues and writes HH:MM:SS,mmm', () => {
  assert.equal(
    writeSrt(two),
    '1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n2\n01:01:01,043 --> 01:01:02,000\nBye <now> & then.\n\n',
  );
});

test('vtt begins with WEBVTT, writes HH:MM:SS.mmm and no markup', () => {
  assert.equal(
    writeVtt(two),
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n\n01:01:01.043 --> 01:01:02.000\nBye &lt;now> &amp; then.\n\n',
  );
  assert.equal(writeVtt([]), 'WEBVTT\n\n');
});

test('a time that rounds up carries into seconds, minutes and hours', () => {
  const srt = writeSrt([{ startS: 0.9996, endS: 3_599.9996, text: 'x' }]);
  assert.match(srt, /00:00:01,000 --> 01:00:00,000/);
});

test('text cannot end its cue or begin another', () => {
  const srt = writeSrt([{ startS: 0, endS: 1, text: 'one\n\n2\r\n00:00:05,000 --> 00:00:06,000\ntwo' }]);
  assert.equal(srt, '1\n00:00:00,000 --> 00:00:01,000\none\n2\n00:00:05,000 -> 00:00:06,000\ntwo\n\n');
});

test('cues without text are left out, and the numbers stay whole', () => {
  const srt = writeSrt([
    { startS: 0, endS: 1, text: '  ' },
    { startS: 1, endS: 2, text: 'x' },
  ]);
  assert.match(srt, /^1\n00:00:01,000/);
});

const seconds = fc.oneof(fc.double({ min: 0, max: 400_000, noNaN: true }), fc.constantFrom(Number.NaN, -1, Infinity));
const segment = fc.record({ startS: seconds, endS: seconds, text: fc.string({ unit: 'binary' }) });

test('whatever segments are given, every cue is well formed, ends after it begins and is within half a ms', () => {
  fc.assert(
    fc.property(fc.array(segment), (segments) => {
      const cues = writeSrt(segments).split('\n\n').slice(0, -1);
      const shown = segments.filter(({ text }) => text.replace(/[\r\n\u2028\u2029]/g, '').trim() !== '');
      assert.equal(cues.length, shown.length);
      cues.forEach((cue, index) => {
        const [number, times = '', ...text] = cue.split('\n');
        assert.equal(number, String(index + 1));
        const found = times.match(/^(\d{2,}):([0-5]\d):([0-5]\d),(\d{3}) --> (\d{2,}):([0-5]\d):([0-5]\d),(\d{3})$/);
        assert.ok(found !== null, times);
        const [h1, m1, s1, ms1, h2, m2, s2, ms2] = found.slice(1).map(Number) as number[] as [
          number,
          number,
          number,
          number,
          number,
          number,
          number,
          number,
        ];
        const start = ((h1 * 60 + m1) * 60 + s1) * 1000 + ms1;
        const end = ((h2 * 60 + m2) * 60 + s2) * 1000 + ms2;
        assert.ok(start <= end);
        const given = shown[index]?.startS ?? 0;
        if (Number.isFinite(given) && given >= 0) assert.ok(Math.abs(start - given * 1000) <= 0.501);
        assert.ok(text.length > 0 && text.every((line) => line !== '' && !line.includes('-->')));
      });
      assert.equal(writeVtt(segments).split('\n\n').length - 2, cues.length);
    }),
  );
});

test('words without segments are joined to cues of a screen, parted at sentences and pauses', () => {
  const word = (text: string, startS: number) => ({ word: text, startS, endS: startS + 0.3 });
  const segments = segmentsOfWords([word('Hello', 0), word(' there.', 0.4), word('So', 0.8), word('long', 5)]);
  assert.deepEqual(
    segments.map(({ text }) => text),
    ['Hello there.', 'So', 'long'],
  );
  assert.deepEqual([segments[0]?.startS, segments[0]?.endS], [0, 0.7]);
  const many = segmentsOfWords(Array.from({ length: 200 }, (_, i) => word('word', i * 0.3)));
  assert.ok(many.every(({ text, startS, endS }) => text.length <= 84 && endS - startS <= 6));
  assert.equal(
    many
      .map(({ text }) => text)
      .join(' ')
      .split(' ').length,
    200,
  );
});
