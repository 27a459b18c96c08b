// Reporter: at the end every failure in full, the names of skipped tests, and the counts.
import { inspect } from 'node:util';

export default async function* summary(source) {
  const failures = [];
  const skipped = [];
  let passed = 0;
  for await (const event of source) {
    const { data } = event;
    if (event.type === 'test:pass') {
      if (data.skip !== undefined) skipped.push(`${data.name} (${data.skip === true ? 'no reason given' : data.skip})`);
      else if (data.details?.type !== 'suite') passed++;
    } else if (event.type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') {
      failures.push(
        `✖ ${data.file ?? ''}:${data.line ?? ''} ${data.name}\n${inspect(data.details?.error?.cause ?? data.details?.error)}`,
      );
    }
  }
  yield '\n\n';
  for (const failure of failures) yield `${failure}\n\n`;
  for (const name of skipped) yield `skipped: ${name}\n`;
  yield `${passed} passed, ${failures.length} failed, ${skipped.length} skipped\n`;
}
