import { Link } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import { useMay } from '../api/rights.ts';
import { buttonClass } from './button.tsx';
import { classes } from './classes.ts';
import { Read, type ReadState } from './read.tsx';

interface PageProps {
  title: string;
  /** Name of what is open in the page, such as a tab: begins the window's title. */
  opened?: string;
  /** Before the title, such as a way back. */
  before?: ReactNode;
  /** Next to the title: the page's actions. */
  actions?: ReactNode;
  /** Below the title: filters, in one line that wraps. */
  bar?: ReactNode;
  children: ReactNode;
}

/** Frame of every page; sets the window's title. */
export function Page({ title, opened, before, actions, bar, children }: PageProps) {
  useEffect(() => {
    document.title = [...(opened === undefined ? [] : [opened]), title, 'Culvert'].join(' · ');
  }, [title, opened]);
  return (
    <div className="mx-auto flex w-full max-w-[1440px] flex-col gap-4 px-4 pt-4 pb-10 md:px-6 md:pt-5">
      <header className="flex flex-col gap-3">
        <div className="flex min-h-8 flex-wrap items-center gap-x-3 gap-y-2">
          {before}
          <h1 className="line-clamp-2 min-w-32 flex-1 font-semibold text-lg [overflow-wrap:anywhere]">{title}</h1>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
        {bar !== undefined && <div className="flex flex-wrap items-center gap-2">{bar}</div>}
      </header>
      {children}
    </div>
  );
}

/** The way back to a list. */
export function Back({
  to,
  search,
  label,
}: {
  to: string;
  search?: Record<string, string | undefined>;
  label: string;
}) {
  return (
    <Link to={to as never} search={search as never} className={buttonClass('quiet', '-ml-3')}>
      <ChevronLeft className="size-4" aria-hidden /> {label}
    </Link>
  );
}

interface EntryPageProps<Entry> {
  title: string;
  opened?: string;
  /** The list that it is of. */
  list: { to: string; label: string };
  query: ReadState<Entry>;
  /** Its changes in the audit log. */
  changes?: { action?: string; subject: string };
  actions?: (entry: Entry) => ReactNode;
  children: (entry: Entry) => ReactNode;
}

/** Page of one entry of a list, once it is read. */
export function EntryPage<Entry>(props: EntryPageProps<Entry>) {
  const { title, opened, list, query, changes, actions, children } = props;
  const mayAudit = useMay('audit', 'read');
  const all = query.data !== undefined && (
    <>
      {changes !== undefined && mayAudit && (
        <Link
          to={'/dashboard/settings' as never}
          search={{ tab: 'audit', ...changes } as never}
          className={buttonClass('quiet')}
        >
          Changes
        </Link>
      )}
      {actions?.(query.data)}
    </>
  );
  return (
    <Page title={title} opened={opened} before={<Back {...list} />} actions={all}>
      <Read query={query}>{children}</Read>
    </Page>
  );
}

interface SectionProps {
  title?: ReactNode;
  /** Next to the title. */
  actions?: ReactNode;
  /** `flush`: the contents reach the border, as tables do. */
  inside?: 'padded' | 'flush';
  className?: string;
  children: ReactNode;
}

/** A panel with a hairline around it. */
export function Section({ title, actions, inside = 'padded', className, children }: SectionProps) {
  return (
    <section className={classes('min-w-0 overflow-hidden rounded-lg border border-line bg-panel', className)}>
      {title !== undefined && (
        <header className="flex min-h-10 items-center gap-2 border-line border-b px-4 py-1">
          <h2 className="min-w-0 flex-1 font-medium text-sm [overflow-wrap:anywhere]">{title}</h2>
          {actions}
        </header>
      )}
      <div className={inside === 'padded' ? 'p-4' : ''}>{children}</div>
    </section>
  );
}

/** Facts by name. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-4 gap-y-1.5 text-sm">{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere]">{children}</dd>
    </>
  );
}
