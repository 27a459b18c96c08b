import { CalendarDays, ChevronDown } from 'lucide-react';
import { Suspense, useRef, useState } from 'react';
import { Button } from '../button.tsx';
import { clock, day } from '../format.ts';
import { lazyPart } from '../lazy-part.ts';
import { anyTime, calendar, lasting, spanOf } from './range.ts';
import type { Ranged } from './use-range.ts';

const Panel = lazyPart(() => import('./range-panel.tsx'));

export function rangeLabel(range: string): string {
  if (range === anyTime) return 'Any time';
  if (range in lasting) return lasting[range as keyof typeof lasting];
  if (range in calendar) return calendar[range as keyof typeof calendar];
  const { fromMs, toMs } = spanOf(range, 0, 'UTC') ?? { fromMs: 0, toMs: null };
  const ends = [fromMs, toMs ?? fromMs].map((atMs) => [day(atMs), clock(atMs).replace(/:00$/, '')] as const);
  const [[fromDay, from], [toDay, to]] = ends as [readonly [string, string], readonly [string, string]];
  if (fromDay === toDay) return `${fromDay}, ${from} – ${to}`;
  const isOfDays = from === '00:00' && to === '00:00';
  return isOfDays ? `${fromDay} – ${toDay}` : `${fromDay}, ${from} – ${toDay}, ${to}`;
}

interface RangePickerProps {
  range: Ranged;
  /** The page can show all there is. */
  any?: true;
}

/** The one way to choose what time a page shows. Its button says the range and the time zone. */
export function RangePicker({ range, any }: RangePickerProps) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  return (
    <>
      <Button
        ref={button}
        icon={<CalendarDays className="size-4 text-muted" aria-hidden />}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="max-w-full"
      >
        <span className="sr-only">Range:</span> <span className="truncate">{rangeLabel(range.text)}</span>{' '}
        <span className="truncate font-normal text-muted">{range.zone}</span>
        <ChevronDown className="size-3.5 text-muted" aria-hidden />
      </Button>
      <Suspense>{open && <Panel range={range} any={any} button={button} onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}
