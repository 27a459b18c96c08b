import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CountryCode, getCountries, getExampleNumber } from 'libphonenumber-js/min';
import examples from 'libphonenumber-js/mobile/examples';
import { checkConfigText } from '../../src/config/check.ts';
import { findingsIn } from '../../src/guards/check.ts';
import { personalData } from '../../src/guards/checks/personal-data.ts';
import { phoneCountries } from '../../src/guards/kinds.ts';

/* Phone numbers by the numbering plans of all countries. */

type Check = Awaited<ReturnType<typeof personalData>>;
const found = (check: Check, text: string) =>
  findingsIn(check, text, 0, text.length).map(({ start, end }) => text.slice(start, end));
const isFound = (check: Check, value: string) => found(check, `Call ${value} today.`).join() === value;
const without = await personalData(['phone']);
const numbers = getCountries().flatMap((country) => {
  const example = getExampleNumber(country, examples);
  return example === undefined ? [] : [{ country, example }];
});

test('the example number of each country is found with its country code, and a year after it is no part of it', () => {
  assert.ok(numbers.length > 240);
  const lost = numbers.filter(({ example }) => {
    const written = example.formatInternational();
    return (
      !isFound(without, written) || !isFound(without, example.number) || !isFound(without, example.getURI().slice(4))
    );
  });
  assert.deepEqual(
    lost.map(({ country }) => country),
    [],
  );
  assert.deepEqual(found(without, 'Call +1 415 555 2671 2024, or 0049 30 901820.'), [
    '+1 415 555 2671',
    '0049 30 901820',
  ]);
});

test('the example number of a country is found as people write it there, and as digits, where the guard names the country', async () => {
  const lost: CountryCode[] = [];
  for (const { country, example } of numbers) {
    const check = await personalData(['phone'], [country]);
    const written = example.formatNational();
    if (!isFound(check, written) || !isFound(check, written.replace(/\D/g, ''))) lost.push(country);
  }
  // Those of six digits or fewer are too short to be told from other numbers.
  assert.ok(lost.length / numbers.length <= 0.06, lost.join());
});

test('other numbers after a plus sign, and numbers of other countries without one, are none', async () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const digits = () => Array.from({ length: 7 + random(9) }, () => random(10)).join('');
  const texts = Array.from({ length: 1_000 }, () => `Order +${digits()} came.`);
  assert.ok(texts.filter((text) => found(without, text).length > 0).length < 350);
  const american = await personalData(['phone'], ['US']);
  assert.deepEqual(found(american, 'Numbers: 4155552671, 20260101, 123456789, 0301234567a.'), ['4155552671']);
});

test('countries are those that have numbering plans, and only phones have them', () => {
  assert.deepEqual(phoneCountries, getCountries().toSorted());
  const problems = (guard: string) => {
    const checked = checkConfigText(`guards:\n  pii: { ${guard}, action: flag }`, 'culvert.yaml', {});
    return checked.ok ? [] : checked.errors.map(({ line, path, message }) => `${line} ${path}: ${message}`);
  };
  assert.deepEqual(problems('check: personal-data, countries: [DE, GB]'), []);
  assert.match(problems('check: personal-data, countries: [UK]')[0] ?? '', /^2 guards\.pii\.countries\[0\]/);
  assert.match(
    problems('check: secrets, countries: [DE]')[0] ?? '',
    /^2 guards\.pii\.countries: .*alone has countries/,
  );
  assert.match(problems('check: personal-data, kinds: [email], countries: [DE]')[0] ?? '', /looks for phones/);
});
