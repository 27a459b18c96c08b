import { Link } from '@tanstack/react-router';
import type { GuardReply } from '../../../../src/admin/entries/guards.ts';
import { guards } from '../../api/entries.ts';
import { Note } from '../../parts/error-note.tsx';
import { Span } from '../../parts/figures.tsx';
import { Fact, Facts, Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { EntryFacts } from '../../parts/stored/stored-entry.tsx';
import { StoredPage } from '../../parts/stored/stored-page.tsx';
import { isSettingOf, labelOf } from './guard-fields.ts';
import { GuardForm } from './guard-form.tsx';
import { TryGuards } from './try-guards.tsx';
import { usersOf } from './users.ts';

/** One guard: what it looks for and does, and what names it. */
export default function GuardPage() {
  return (
    <StoredPage
      entries={guards}
      list={{ to: '/dashboard/guards', label: 'Guards' }}
      everyMs={10_000}
      kind="guard"
      area="models"
      place="side"
      edit={(guard, done) => <GuardForm guard={guard} onDone={done} />}
      removal="You cannot remove it while a model or a plan uses it. Take it out of them first."
    >
      {(guard) => <Guard guard={guard} />}
    </StoredPage>
  );
}

function Guard({ guard }: { guard: GuardReply }) {
  const { mode, settings, used_by } = guard;
  const users = usersOf(used_by);
  return (
    <>
      {mode === 'observe' && (
        <Note tone="plain">It only observes: it changes nothing, and request records say what it would have done.</Note>
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        <Section title="Settings">
          <Facts>
            {Object.entries(settings ?? guard.definition ?? {})
              .filter(([name]) => isSettingOf(guard.check, name))
              .map(([name, value]) => (
                <Fact key={name} name={labelOf(name)}>
                  {typeof value === 'number' && name === 'deadline' ? <Span ms={value} /> : shown(value)}
                </Fact>
              ))}
            <EntryFacts of={guard} />
          </Facts>
        </Section>
        <Section title="Used by">
          {users.length === 0 ? (
            <p className="text-muted">
              Nothing uses this guard yet, so it reads nothing. Name it in a model, a plan, an account or a key, or for
              all requests in <code className="font-mono text-xs">server.guards</code> of the configuration file.
            </p>
          ) : (
            <ul aria-label="Used by" className="flex flex-wrap gap-1.5">
              {users.map(({ text, to }) => (
                <li key={text}>
                  {to === null ? (
                    <Badge>{text}</Badge>
                  ) : (
                    <Link to={to as never} className="text-accent underline-offset-2 hover:underline">
                      {text}
                    </Link>
                  )}
                </li>
              ))}
            </ul>
          )}
        </Section>
      </div>
      <TryGuards key={guard.name} guards={[guard.name]} />
    </>
  );
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
