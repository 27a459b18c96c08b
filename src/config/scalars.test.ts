import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  duration,
  httpUrl,
  instant,
  network,
  networkOrPlace,
  parseDurationMs,
  parseSizeBytes,
  percentage,
  signingSecret,
  size,
  webhookSecret,
} from './scalars.ts';

test('durations are ms whatever their unit', () => {
  for (const [text, ms] of [
    ['0s', 0],
    ['500ms', 500],
    ['1.5s', 1_500],
    ['30s', 30_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['90d', 7_776_000_000],
  ] as const) {
    assert.equal(parseDurationMs(text), ms, text);
  }
  for (const text of ['', '30', 's', '-1s', '30 s', '30sec', '1e3s', '30S', '1h30m', '99999999999s']) {
    assert.equal(parseDurationMs(text), undefined, text);
  }
});

test('a duration outside its bounds names the bound', () => {
  const schema = duration({ min: '1s', max: '1h' });
  assert.equal(schema.parse('1h'), 3_600_000);
  assert.equal(schema.safeParse('2h').error?.issues[0]?.message, 'expected a duration of at most 1h');
  assert.equal(schema.safeParse('1ms').error?.issues[0]?.message, 'expected a duration of at least 1s');
  assert.equal(schema.safeParse(30).error?.issues[0]?.message, 'expected a duration such as 30s');
  assert.equal(duration().safeParse('9999d').error?.issues[0]?.message, 'expected a duration of at most 3650d');
});

test('sizes are bytes in powers of 1024, in any case', () => {
  assert.equal(parseSizeBytes('32mb'), 33_554_432);
  assert.equal(parseSizeBytes('1GB'), 1_073_741_824);
  assert.equal(parseSizeBytes('512kb'), 524_288);
  assert.equal(parseSizeBytes('10b'), 10);
  for (const text of ['32', 'mb', '32 mb', '-1kb', '1tb']) assert.equal(parseSizeBytes(text), undefined, text);
  assert.equal(size({ max: '1mb' }).safeParse('2mb').error?.issues[0]?.message, 'expected a size of at most 1mb');
  assert.equal(size().safeParse('0b').success, false);
});

test('no text makes a duration or a size that is not a finite number', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      for (const value of [parseDurationMs(text), parseSizeBytes(text)]) {
        assert.ok(value === undefined || Number.isSafeInteger(value));
      }
    }),
  );
});

test('a date is its first instant in UTC; a day that does not exist is refused', () => {
  assert.equal(instant().parse('2027-01-01'), Date.UTC(2027, 0, 1));
  assert.equal(instant().parse('2027-01-01T12:00:00Z'), Date.UTC(2027, 0, 1, 12));
  assert.equal(instant().parse('2027-01-01 12:00:00+02:00'), Date.UTC(2027, 0, 1, 10));
  for (const text of [
    '2027-02-30',
    '2027-13-01',
    '2027-1-1',
    'tomorrow',
    '2027-01-01T12:00:00',
    '2027-01-01T25:00:00Z',
  ]) {
    assert.equal(instant().safeParse(text).success, false, text);
  }
});

test('percentages are shares', () => {
  assert.equal(percentage().parse('5%'), 0.05);
  assert.equal(percentage().parse('100%'), 1);
  for (const text of ['101%', '5', '%', '-5%']) assert.equal(percentage().safeParse(text).success, false, text);
});

test('URLs are http or https, without credentials, and lose their trailing slash', () => {
  assert.equal(httpUrl().parse('http://127.0.0.1:8880/v1/'), 'http://127.0.0.1:8880/v1');
  for (const text of [
    'ftp://x',
    'x.example',
    '/v1',
    'http://user:pw@x.example',
    'https://x.example/#a',
    'javascript:1',
  ]) {
    assert.equal(httpUrl().safeParse(text).success, false, text);
  }
});

test('S9: a webhook secret is as long, or whsec_ and base64 of 24 bytes', () => {
  const whole = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  for (const good of ['x'.repeat(32), whole, `whsec_${Buffer.alloc(40, 7).toString('base64')}`]) {
    assert.equal(webhookSecret().safeParse(good).success, true, good);
  }
  const mangled = `${whole.slice(0, 20)}*${whole.slice(20)}`;
  for (const bad of ['', 'x'.repeat(31), 'whsec_', `whsec_${Buffer.alloc(23, 7).toString('base64')}`, mangled]) {
    const checked = webhookSecret().safeParse(bad);
    assert.equal(checked.error?.issues.length, 1, bad);
  }
});

test('S9: a signing secret below 32 bytes is refused, counted in bytes', () => {
  assert.equal(signingSecret().safeParse('').success, false);
  assert.equal(signingSecret().safeParse('x'.repeat(31)).success, false);
  assert.equal(signingSecret().safeParse('x'.repeat(32)).success, true);
  assert.equal(signingSecret().safeParse('é'.repeat(16)).success, true);
});

test('what is let through to private places is a network or one port of one host', () => {
  for (const text of ['10.0.0.0/8', '127.0.0.1', '::1', '127.0.0.1:9000', '[::1]:9000', 'minio.internal:9000'])
    assert.ok(networkOrPlace().safeParse(text).success, text);
  for (const text of ['minio.internal', '10.0.0.0/33', 'http://a:80', '*:80/x', 'a:0', ''])
    assert.ok(!networkOrPlace().safeParse(text).success, text);
});

test('a network that nothing would ever match is refused', () => {
  for (const text of ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::ffff:10.0.0.0/104'])
    assert.ok(network().safeParse(text).success, text);
  // The first 96 bits of an IPv4 address in IPv6 form are fixed.
  for (const text of ['::ffff:10.0.0.0/8', '10.0.0.0/33', '[::1]', 'fe80::1%eth0', 'example.org', ''])
    assert.ok(!network().safeParse(text).success, text);
});

test('a URL with many slashes is read in one pass, and loses those at its end', { timeout: 60_000 }, () => {
  // At its square this takes minutes.
  const many = `https://one.example/${'/'.repeat(1_000_000)}x`;
  assert.equal(httpUrl().parse(many), many);
  assert.equal(httpUrl().parse('https://one.example/v1///'), 'https://one.example/v1');
});
