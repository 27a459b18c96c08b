import { Parser } from 'htmlparser2';

export interface TestResult {
  file: string;
  test: string;
  outcome: 'passed' | 'failed' | 'skipped';
  /** First line of why it failed; empty for others. */
  reason: string;
}

/** Results of a report in JUnit's form, as pytest (`junit_family=xunit1`) and vitest write it. */
export function readJunit(xml: string): TestResult[] {
  const results: TestResult[] = [];
  let current: TestResult | null = null;
  let text: string | null = null;
  let message = '';
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (name === 'testcase') {
          const { file, classname = '', name: test = '' } = attributes;
          current = {
            file: file ?? (classname || `${test.replaceAll('.', '/')}.py`),
            test,
            outcome: 'passed',
            reason: '',
          };
          results.push(current);
        } else if (current !== null && (name === 'failure' || name === 'error')) {
          current.outcome = 'failed';
          message = attributes.message ?? '';
          text = '';
        } else if (current?.outcome === 'passed' && name === 'skipped') {
          current.outcome = 'skipped';
        }
      },
      ontext(piece) {
        if (text !== null) text += piece;
      },
      onclosetag(name) {
        if (name === 'testcase') current = null;
        if (current === null || text === null || (name !== 'failure' && name !== 'error')) return;
        current.reason ||= reasonOf(message, text);
        text = null;
      },
    },
    { xmlMode: true },
  );
  parser.end(xml);
  return results;
}

/** pytest says only that a file could not be read, or that a fixture failed: the line of the error is in the text. */
function reasonOf(message: string, text: string): string {
  const isOutside = message === 'collection failure' || message.startsWith('failed on ');
  const line = isOutside ? /^E {2,}(.+)$/m.exec(text)?.[1] : undefined;
  return (line ?? message.split('\n').find((one) => one.trim() !== '') ?? text.trim().split('\n')[0] ?? '').trim();
}
