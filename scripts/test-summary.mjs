// Reporter: at the end every failure in full, the names of skipped tests, and the counts. Which files failed is written to
// FAILED_FILES, a path, for the second look of scripts/test.mjs.
import { writeFileSync } from 'node:fs';
import { inspect } from 'node:util';

export default async function* summary(source) {
  const failures = [];
  const failedFiles = new Set();
  const skipped = [];
  let passed = 0;
  for await (const event of source) {
    const { data } = event;
    if (event.type === 'test:pass') {
      if (data.skip !== undefined) skipped.push(`${data.name} (${data.skip === true ? 'no reason given' : data.skip})`);
      else if (data.details?.type !== 'suite') passed++;
    } else if (event.type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') {
      failedFiles.add(data.file ?? '');
      failures.push(
        `✖ ${data.file ?? ''}:${data.line ?? ''} ${data.name}\n${inspect(data.details?.error?.cause ?? data.details?.error)}`,
      );
    }
  }
  if (process.env.FAILED_FILES) writeFileSync(process.env.FAILED_FILES, JSON.stringify([...failedFiles]));
  yield '\n\n';
  for (const failure of failures) yield `${failure}\n\n`;
  for (const name of skipped) yield `skipped: ${name}\n`;
  yield `${passed} passed, ${failures.length} failed, ${skipped.length} skipped\n`;
}
