import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { TextFilter } from '../../models/steps.ts';
import type { AnswerForm, Bytes } from '../sink.ts';
import { FilteredBytes } from './filtered-bytes.ts';

/** Replaces `bad` by `***`, and holds what may become it. */
function filter(): TextFilter {
  let held = '';
  return {
    push(text) {
      const all = (held + text).replaceAll('bad', '***');
      held = /(?:b|ba)$/.exec(all)?.[0] ?? '';
      return all.slice(0, all.length - held.length);
    },
    end: () => held,
  };
}

function passed(form: AnswerForm, pieces: readonly Bytes[], type?: string): string {
  const out: string[] = [];
  const next = {
    start() {},
    chunk: (piece: Bytes) => {
      out.push(piece.toString());
      return 'ready' as const;
    },
    end() {},
  };
  const sink = new FilteredBytes(next, filter);
  sink.start(form, type === undefined ? [] : ['content-type', type]);
  for (const piece of pieces) sink.chunk(piece);
  sink.end(null);
  return out.join('');
}

test('events pass filtered, however their bytes and texts are cut', () => {
  const stream = [
    'data: {"delta":"a b"}\n\n',
    'data: {"delta":"a"}\r\n\r\n',
    ': a comment\n\n',
    'event: x\ndata: {"delta":"d é"}\n\n',
    'data: {"text":"bad",\ndata: "more":"bad"}\n\n',
    'data: bad words\n\n',
    'data: ["bad"]\n\n',
    'data: [DONE]\n\n',
    'data: {"text":"bad"}',
  ].join('');
  const bytes = Buffer.from(stream);
  const whole = passed('events', [bytes]);
  assert.ok(!whole.includes('bad'), whole);
  assert.match(whole, /data: \[DONE\]\n\n/);
  const deltas = [...whole.matchAll(/"delta":"([^"]*)"/g)].map(([, text]) => text).join('');
  assert.equal(deltas, 'a *** é');
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((end, at) => bytes.subarray(places[at], end));
      assert.equal(passed('events', pieces), whole);
    }),
  );
});

test('whole answers pass filtered as JSON or as plain text, and other bytes as they are', () => {
  assert.equal(passed('whole', ['{"text":"is b', 'ad","n":1}']), '{"text":"is ***","n":1}');
  assert.equal(passed('whole', ['{"text":"is b', 'ad"'], 'application/json'), '{"text":"is ***"');
  assert.equal(passed('whole', ['{"bad":', '1}'], 'text/plain'), '{"***":1}');
  assert.equal(passed('whole', ['"bad"']), '"***"');
  assert.equal(passed('whole', ['bad'], 'audio/mpeg'), 'bad');
  assert.equal(passed('bytes', ['bad']), 'bad');
});
