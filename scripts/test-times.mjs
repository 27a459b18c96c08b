// Loaded before each test file. At its end it writes what the file took, as a line of JSON, to TEST_TIMES, a path, and
// the path of a file that failed, as a line, to FAILED_PROCESSES. One that does not end gets SIGWINCH, and writes what it
// waits for to STUCK_PROCESSES.
import { appendFileSync, readFileSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { begun } from './light-test-hooks.mjs';

const { TEST_TIMES, FAILED_PROCESSES, STUCK_PROCESSES } = process.env;
const [, file = ''] = process.argv;
/** Linux counts the CPU time of processes in these. */
const ticksASecond = 100;

// The runner, threads and processes that a test forks load it too.
const isTest = isMainThread && /\.test\.(ts|mjs)$/.test(file);
if (isTest && STUCK_PROCESSES)
  process.on('SIGWINCH', () => {
    const tests = [...begun].map((reference) => reference.deref());
    const open = tests.filter((test) => test?.finished === false).map(({ name }) => name);
    const waiting = [...open, ...process.getActiveResourcesInfo()].join(', ');
    appendFileSync(STUCK_PROCESSES, `${file}: ${waiting}\n`);
  });
if (isTest)
  process.on('exit', (code) => {
    if (FAILED_PROCESSES && code !== 0) appendFileSync(FAILED_PROCESSES, `${file}\n`);
    if (!TEST_TIMES) return;
    const { user, system } = process.cpuUsage();
    const times = { file, wallMs: performance.now(), cpuMs: (user + system) / 1_000 + startedCpuMs() };
    appendFileSync(TEST_TIMES, `${JSON.stringify(times)}\n`);
  });

/** CPU time of the processes that this one started and that have ended, ms; 0 where the system does not tell. */
function startedCpuMs() {
  try {
    const afterName = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ');
    return ((Number(afterName[13]) + Number(afterName[14])) * 1_000) / ticksASecond;
  } catch {
    return 0;
  }
}

/** The dearest files of a run as lines of text, by CPU time. `notes`: what the files wrote. */
export function slowest(notes, root, filesMax = 30) {
  const files = notes
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .sort((a, b) => b.cpuMs - a.cpuMs);
  const seconds = (ms) => (ms / 1_000).toFixed(1).padStart(8);
  const sum = (of) => files.reduce((all, one) => all + one[of], 0);
  return [
    '  wall s   CPU s  file',
    ...files
      .slice(0, filesMax)
      .map(
        ({ file, wallMs, cpuMs }) =>
          `${seconds(wallMs)}${seconds(cpuMs)}  ${file.startsWith(root) ? relative(root, file) : `the group ${basename(file, '.test.mjs')}`}`,
      ),
    `${seconds(sum('wallMs'))}${seconds(sum('cpuMs'))}  all ${files.length} files`,
  ];
}
