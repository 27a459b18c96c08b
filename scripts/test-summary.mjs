// Reporter: at the end every failure in full, the names of skipped tests, and the counts; before that a dot for each test
// where TEST_DOTS is set, and the beginning of each failure, so that a run which is cut short says it too. Which files failed is written to FAILED_FILES, a path, for a second look.
import { writeFileSync } from 'node:fs';
import { inspect } from 'node:util';

const dotsALine = 100;
const failureCharsMax = 1_500;

export default async function* summary(source) {
  const failures = [];
  const failedFiles = new Set();
  const skipped = [];
  let passed = 0;
  let dots = 0;
  for await (const event of source) {
    const { data } = event;
    if (process.env.TEST_DOTS && event.type === 'test:pass') yield ++dots % dotsALine === 0 ? '.\n' : '.';
    if (event.type === 'test:pass') {
      if (data.skip !== undefined) skipped.push(`${data.name} (${data.skip === true ? 'no reason given' : data.skip})`);
      else if (data.details?.type !== 'suite') passed++;
    } else if (event.type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') {
      failedFiles.add(data.file ?? '');
      const failure = `✖ ${data.file ?? ''}:${data.line ?? ''} ${data.name}\n${inspect(data.details?.error?.cause ?? data.details?.error)}`;
      if (process.env.TEST_DOTS) yield `\n${failure.slice(0, failureCharsMax)}\n`;
      failures.push(failure);
    }
  }
  if (process.env.FAILED_FILES) writeFileSync(process.env.FAILED_FILES, JSON.stringify([...failedFiles]));
  yield '\n\n';
  for (const failure of failures) yield `${failure}\n\n`;
  for (const name of skipped) yield `skipped: ${name}\n`;
  yield `${passed} passed, ${failures.length} failed, ${skipped.length} skipped\n`;
}
