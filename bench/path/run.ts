// node bench/run.mjs path [--functions]
// What plain requests enter in src/, as V8 counts it. test/gates keeps these figures from rising.

import type { Entered } from '../../test/gates/count-entered.ts';
import { countedBy } from '../../test/gates/counted-by.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';

const counted = await countedBy<Record<string, Entered>>('./count-entered.ts');
const whole = { unit: '', digits: 0 };
/** Of part 14. */
const goals: Readonly<Record<string, { files: number; functions: number }>> = {
  'streamed converted chat': { files: 60, functions: 340 },
};

const rows: Row[] = Object.entries(counted).flatMap(([kind, { files, functions, calls }]) => {
  if (process.argv.includes('--functions')) for (const name of functions) console.log(`${kind}: ${name}`);
  const goal = goals[kind];
  const byRoom = Object.entries(Object.groupBy(files, (file) => file.replace(/^(inference\/)?([^/]+)\/.*$/, '$1$2')))
    .map(([room, its]) => `${room} ${its!.length}`)
    .sort()
    .join(', ');
  return [
    goal
      ? judged(`files of src/ that a ${kind} enters`, [files.length], { atMost: goal.files, ...whole })
      : told(`files of src/ that a plain ${kind} enters`, String(files.length)),
    goal
      ? judged('… functions', [functions.length], { atMost: goal.functions, ...whole })
      : told('… functions', String(functions.length)),
    told('… calls', calls.toFixed(0)),
    told('… files by room', byRoom),
  ];
});
print(rows);
finish({
  subject: 'path',
  command: 'node bench/run.mjs path',
  how: `A chat over a provider of Anthropic's format and over one of OpenAI's, an embedding, a search of an embedded
collection, after 30 such requests; functions that V8 counts in each of six rounds. SQLite and this process's counters.`,
  rows,
});
