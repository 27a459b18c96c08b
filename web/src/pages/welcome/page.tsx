import { Link, Navigate } from '@tanstack/react-router';
import { Check, MessagesSquare } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useMay } from '../../api/rights.ts';
import { buttonClass } from '../../parts/button.tsx';
import { classes } from '../../parts/classes.ts';
import { Select } from '../../parts/controls.tsx';
import { plural } from '../../parts/format.ts';
import { Page } from '../../parts/page.tsx';
import { type Added, AddProvider } from '../providers/add-provider.tsx';
import { skipWelcome } from './use-welcome.ts';

/** Models shown of a provider's list. */
const shownMax = 12;

/** An empty installation: a provider's key, its models, and a first talk. */
export default function WelcomePage() {
  const [added, setAdded] = useState<Added | null>(null);
  if (!useMay('providers', 'write')) return <Navigate to="/dashboard" replace />;
  return (
    <Page
      title="Welcome to Culvert"
      actions={
        <Link to="/dashboard" onClick={skipWelcome} className={buttonClass('quiet')}>
          {added === null ? 'Skip for now' : 'To the overview'}
        </Link>
      }
    >
      <ol className="flex max-w-2xl flex-col gap-4">
        <Step number={1} title="Connect a provider" done={added !== null}>
          {added === null ? (
            <>
              <p className="mb-4 text-muted">
                Paste the key of a service that you use, or pick a model server on this machine. Culvert tests the key,
                encrypts it, and never shows it again.
              </p>
              <AddProvider action="Connect" onAdded={setAdded} />
            </>
          ) : (
            <p className="text-muted">
              {added.name} is {added.models === null ? 'added' : 'connected'}.
            </p>
          )}
        </Step>
        <Step number={2} title="Check its models" done={added !== null && added.models !== null}>
          {added !== null && <Models name={added.name} models={added.models} />}
        </Step>
        <Step number={3} title="Try a model">
          {added?.models != null && <Talk name={added.name} models={added.models} />}
        </Step>
      </ol>
    </Page>
  );
}

interface StepProps {
  number: number;
  title: string;
  done?: boolean;
  children: ReactNode;
}

function Step({ number, title, done = false, children }: StepProps) {
  const waits = children === null || children === false;
  return (
    <li className={classes('rounded-lg border border-line bg-panel', waits && 'opacity-60')}>
      <h2 className="flex items-center gap-3 px-4 py-3 font-medium text-base">
        <span
          className={classes(
            'flex size-6 items-center justify-center rounded-full text-xs',
            done ? 'bg-ok-soft text-ok' : 'bg-accent-soft text-accent',
          )}
        >
          {done ? <Check className="size-4" aria-label="Done" /> : number}
        </span>
        {title}
      </h2>
      {!waits && <div className="border-line border-t p-4">{children}</div>}
    </li>
  );
}

function Models({ name, models }: Added) {
  const link = 'underline underline-offset-2';
  if (models === null) {
    return (
      <p className="text-muted">
        The test of {name} failed, so its models are not known. Test it again, or give it another key,{' '}
        <Link to={`/dashboard/providers/${encodeURIComponent(name)}`} className={link}>
          on its page
        </Link>
        .
      </p>
    );
  }
  if (models.length === 0) {
    return (
      <p className="text-muted">
        {name} lists none. Name its models yourself, under{' '}
        <Link to="/dashboard/models" className={link}>
          Models
        </Link>
        .
      </p>
    );
  }
  return (
    <>
      <ul className="flex flex-wrap gap-1.5">
        {models.slice(0, shownMax).map(({ id, type }) => (
          <li key={id} className="rounded-md border border-line px-2 py-0.5">
            {id} <span className="text-muted text-xs">{type}</span>
          </li>
        ))}
      </ul>
      {models.length > shownMax && (
        <p className="mt-2 text-muted">and {plural(models.length - shownMax, 'more', 'more')}.</p>
      )}
    </>
  );
}

function Talk({ name, models }: { name: string; models: NonNullable<Added['models']> }) {
  const chat = models.filter(({ type }) => type === 'chat').map(({ id }) => `${name}/${id}`);
  const [model, setModel] = useState(chat[0] ?? '');
  if (chat.length === 0) return <p className="text-muted">It has no chat model.</p>;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Select
        aria-label="Model"
        value={model}
        className="min-w-0 flex-1 basis-60"
        onChange={({ target }) => setModel(target.value)}
      >
        {chat.map((id) => (
          <option key={id}>{id}</option>
        ))}
      </Select>
      <Link to={'/dashboard/playground' as never} search={{ model } as never} className={buttonClass('main')}>
        <MessagesSquare className="size-4" aria-hidden /> Try it in the playground
      </Link>
    </div>
  );
}
