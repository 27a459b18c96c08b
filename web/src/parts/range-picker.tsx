import { CalendarDays, ChevronDown } from 'lucide-react';
import { Popover } from 'radix-ui';
import { lazy, Suspense, useState } from 'react';
import { Button } from './button.tsx';
import { clock, day } from './format.ts';
import { anyTime, calendar, lasting, spanOf } from './range.ts';
import type { Ranged } from './use-range.ts';

const Panel = lazy(() => import('./range-panel.tsx'));

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
  const label = rangeLabel(range.text);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <Button icon={<CalendarDays className="size-4 text-muted" aria-hidden />} className="max-w-full">
          <span className="sr-only">Range:</span> <span className="truncate">{label}</span>{' '}
          <span className="truncate font-normal text-muted">{range.zone}</span>
          <ChevronDown className="size-3.5 text-muted" aria-hidden />
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          aria-label="Range"
          className="z-50 w-[min(26rem,calc(100vw-1rem))] rounded-lg border border-line-strong bg-raised p-3 text-sm outline-none"
        >
          <Suspense fallback={<div className="h-72" />}>
            <Panel range={range} any={any} onDone={() => setOpen(false)} />
          </Suspense>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
