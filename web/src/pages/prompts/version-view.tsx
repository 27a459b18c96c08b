import type { PromptReply } from '../../../../src/admin/entries/prompts.ts';
import { classes } from '../../parts/classes.ts';
import { Select } from '../../parts/controls.tsx';
import { None } from '../../parts/figures.tsx';
import { plural } from '../../parts/format.ts';
import { Fact, Facts, Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { lineDiff } from './line-diff.ts';
import { linesOf, type Message, parametersOf, textsOf, type Version, variablesOf } from './versions.ts';

/** One version: what it says, and what it needs. */
export function VersionView({ version }: { version: Version }) {
  const variables = Object.entries(variablesOf(version));
  const parameters = Object.entries(parametersOf(version));
  return (
    <div className="flex flex-col gap-4">
      <Facts>
        <Fact name="Labels">
          {version.labels.length === 0 ? (
            <span className="text-muted">none: it is a draft</span>
          ) : (
            <span className="inline-flex flex-wrap gap-1">
              {version.labels.map((label) => (
                <Badge key={label} tone={label === 'production' ? 'ok' : 'accent'}>
                  {label}
                </Badge>
              ))}
            </span>
          )}
        </Fact>
        <Fact name="Model">{version.model ?? <span className="text-muted">each request names it</span>}</Fact>
        <Fact name="Variables">
          {variables.length === 0 && <None />}
          <ul>
            {variables.map(([name, { type, default: usual }]) => (
              <li key={name}>
                <code className="font-mono text-xs">{name}</code>{' '}
                <span className="text-muted">
                  {type}, {usual === undefined ? 'required' : `default ${JSON.stringify(usual)}`}
                </span>
              </li>
            ))}
          </ul>
        </Fact>
        {parameters.map(([name, value]) => (
          <Fact key={name} name={name}>
            {value}
          </Fact>
        ))}
      </Facts>
      <Texts label={`Messages of version ${version.number}`} messages={textsOf(version)} />
    </div>
  );
}

/** Messages in their order, each with its role. */
export function Texts({ label, messages }: { label: string; messages: readonly Message[] }) {
  return (
    <ol aria-label={label} className="flex flex-col gap-2">
      {messages.map(({ role, content }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other name than their place.
        <li key={at} className="rounded-md border border-line bg-ground p-3">
          <p className="mb-1 text-muted text-xs">{role}</p>
          <p className="whitespace-pre-wrap text-sm [overflow-wrap:anywhere]">{content}</p>
        </li>
      ))}
    </ol>
  );
}

const marks = {
  same: { sign: ' ', word: '', className: '' },
  added: { sign: '+', word: 'added: ', className: 'bg-ok-soft text-ok' },
  removed: { sign: '−', word: 'removed: ', className: 'bg-bad-soft text-bad' },
};

interface ComparisonProps {
  prompt: PromptReply;
  version: Version;
  /** The number that it is compared with. */
  withNumber: number | null;
  onWith: (number: string) => void;
}

/** How an earlier version became this one, line by line. */
export function Comparison({ prompt: { versions }, version, withNumber, onWith }: ComparisonProps) {
  const others = versions.filter(({ number }) => number !== version.number);
  const usual = others.find(({ number }) => number < version.number) ?? others[0];
  const other = others.find(({ number }) => number === withNumber) ?? usual;
  if (other === undefined) return null;
  const lines = lineDiff(linesOf(other), linesOf(version));
  const changed = lines.filter(({ kind }) => kind !== 'same').length;
  return (
    <Section
      title={`From version ${other.number} to ${version.number}`}
      actions={
        <Select
          aria-label="Compare with"
          className="w-auto"
          value={other.number}
          onChange={({ target }) => onWith(target.value)}
        >
          {others.map(({ number }) => (
            <option key={number} value={number}>
              Version {number}
            </option>
          ))}
        </Select>
      }
    >
      <p className="mb-2 text-muted text-xs">
        {changed === 0 ? 'The two versions are identical.' : plural(changed, 'changed line')}
      </p>
      <ol
        aria-label="Changes"
        className="overflow-hidden rounded-md border border-line bg-ground py-1 font-mono text-xs"
      >
        {lines.map(({ kind, text }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: equal lines may follow each other.
          <li key={at} className={classes('flex gap-2 px-3 py-0.5', marks[kind].className)}>
            <span aria-hidden className="w-2 shrink-0">
              {marks[kind].sign}
            </span>
            <span className="sr-only">{marks[kind].word}</span>
            <span className="min-w-0 whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</span>
          </li>
        ))}
      </ol>
    </Section>
  );
}
