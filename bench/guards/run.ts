import { type Check, contextChars, findingsIn, openAt } from '../../src/guards/check.ts';
import { personalData } from '../../src/guards/checks/personal-data.ts';
import { secrets } from '../../src/guards/checks/secrets.ts';
import { finish } from '../results.ts';
import { judged, print } from '../rows.ts';

/** Plain prose with some numbers, such as people write. */
const sentence =
  'The quick brown fox, who was 42, wrote to his aunt on 2024-05-06 at 10:30 about version 3.11.2 of the program. She answered at once that nothing in it was right, and that the whole of the plan had to be written anew before winter. ';
const check: Check = [...(await personalData()), ...secrets()];
const rounds = 5;

/** CPU of one call, in µs, of each round. */
function cpuUs(times: number, work: (at: number) => void): number[] {
  for (let at = 0; at < times; at++) work(at);
  return Array.from({ length: rounds }, () => {
    const before = process.cpuUsage();
    for (let at = 0; at < times; at++) work(at);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / times;
  });
}

const textOf = (chars: number) => sentence.repeat(Math.ceil(chars / sentence.length)).slice(0, chars);
const [small, large] = [textOf(2_000), textOf(20_000)];

/** A stream's chunk of five characters, behind what is held of those before it. */
let held = '';
function takeChunk(at: number): void {
  held += sentence.slice((at * 5) % 200, ((at * 5) % 200) + 5);
  const from = Math.min(contextChars, held.length - 5);
  const before = openAt(check, held, from);
  findingsIn(check, held, from, before);
  held = held.slice(Math.max(0, before - contextChars));
}

const rows = [
  judged(
    'all built-in rules over 2 KB',
    cpuUs(3_000, () => findingsIn(check, small, 0, small.length)),
    {
      atMost: 40,
      unit: ' µs',
      digits: 1,
    },
  ),
  judged(
    'all built-in rules over 20 KB',
    cpuUs(500, () => findingsIn(check, large, 0, large.length)),
    {
      atMost: 250,
      unit: ' µs',
      digits: 0,
    },
  ),
  judged('a chunk of a stream', cpuUs(50_000, takeChunk), { atMost: 3, unit: ' µs', digits: 2 }),
];
print(rows);
finish({
  subject: 'guards',
  command: 'npm run bench -- guards',
  how: 'All rules for personal data and secrets over prose with some numbers, in one thread, as CPU of a call.',
  rows,
});
