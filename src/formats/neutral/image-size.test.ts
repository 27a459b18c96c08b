import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ImageSizes, ratioOf, whyNotSize } from './image-size.ts';

const steps: ImageSizes = { kind: 'steps', multipleOf: 16, min: 256, max: 1_440, pixelsMax: 1_440 * 720, ratioMax: 4 };
const makes = (width: number, height: number) => whyNotSize(steps, { width, height }) === null;

test('a model makes the sizes at its bounds, and none a step beyond', () => {
  assert.ok(makes(256, 256) && !makes(240, 256) && !makes(256, 240), 'the shortest side');
  assert.ok(makes(1_440, 400) && !makes(1_456, 400) && !makes(400, 1_456), 'the longest side');
  assert.ok(makes(1_440, 720) && !makes(1_440, 736), 'pixels in all');
  assert.ok(makes(1_024, 256) && makes(256, 1_024), 'the widest ratio');
  assert.ok(!makes(1_040, 256) && !makes(256, 1_040), 'a wider one');
  assert.ok(!makes(264, 256) && !makes(256, 264), 'half a step');
});

test('a refusal says which sizes there are, and only the bounds that a model has', () => {
  const size = { width: 1, height: 1 };
  assert.equal(
    whyNotSize(steps, size),
    'makes sides of 256 to 1440 pixels, multiples of 16, at most 1036800 pixels in all, the longer at most 4 times the shorter',
  );
  const { pixelsMax: _, ratioMax: __, ...plain } = steps;
  assert.equal(whyNotSize(plain, size), 'makes sides of 256 to 1440 pixels, multiples of 16');
});

test('a size has the nearest ratio, up to three hundredths from it', () => {
  const ratios = { '1:1': null, '16:9': null, '9:16': null };
  assert.equal(ratioOf(ratios, { width: 1_344, height: 768 }), '16:9', 'as Google rounds it');
  assert.equal(ratioOf(ratios, { width: 768, height: 1_344 }), '9:16');
  assert.equal(ratioOf(ratios, { width: 1_030, height: 1_001 }), '1:1');
  assert.equal(ratioOf(ratios, { width: 1_032, height: 1_000 }), null);
});
