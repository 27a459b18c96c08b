import { Popover } from 'radix-ui';
import { type RefObject, useId, useState } from 'react';
import { Button } from '../button.tsx';
import { Input } from '../controls.tsx';
import { useFilters } from '../filters.ts';
import { Field, Form } from '../forms/form.tsx';
import { FieldProblem } from '../forms/typed.ts';
import { anyTime, between, calendar, instantOf, isBetweenHours, lasting, localText } from './range.ts';
import type { Ranged } from './use-range.ts';
import { chooseZone, isZone } from './zone.ts';

interface RangePanelProps {
  range: Ranged;
  any: true | undefined;
  /** It opens below this button, which gets the focus back. */
  button: RefObject<HTMLButtonElement | null>;
  onClose: () => void;
}

/** Presets, a range of one's own, and the time zone. */
export default function RangePanel({ range, any, button, onClose }: RangePanelProps) {
  const pick = (text: string) => {
    range.choose(text);
    onClose();
  };
  const presets = { ...lasting, ...(any && { [anyTime]: 'Any time' }) };
  const onInteractOutside = (event: Event) => {
    // A click on the button closes it already.
    if (button.current?.contains(event.target as Node)) event.preventDefault();
  };
  const giveBack = (event: Event) => {
    event.preventDefault();
    button.current?.focus();
  };
  return (
    <Popover.Root open onOpenChange={(next) => !next && onClose()}>
      <Popover.Anchor virtualRef={button as RefObject<HTMLButtonElement>} />
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          aria-label="Range"
          onInteractOutside={onInteractOutside}
          onCloseAutoFocus={giveBack}
          className="z-50 flex w-[min(26rem,calc(100vw-1rem))] flex-col gap-3 rounded-lg border border-line-strong bg-raised p-3 text-sm outline-none"
        >
          <div className="grid grid-cols-2 gap-x-3">
            <Presets label="Until now" of={presets} chosen={range.text} onPick={pick} />
            <Presets label="Calendar" of={calendar} chosen={range.text} onPick={pick} />
          </div>
          <Custom range={range} onPick={pick} />
          <Zone range={range} />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

interface PresetsProps {
  label: string;
  of: Readonly<Record<string, string>>;
  chosen: string;
  onPick: (range: string) => void;
}

function Presets({ label, of, chosen, onPick }: PresetsProps) {
  return (
    <fieldset className="flex flex-col">
      <legend className="px-2 pb-1 text-muted text-xs">{label}</legend>
      {Object.entries(of).map(([range, text]) => (
        <button
          key={range}
          type="button"
          aria-pressed={range === chosen}
          onClick={() => onPick(range)}
          className="h-7 rounded px-2 text-left hover:bg-hover aria-pressed:bg-accent-soft aria-pressed:font-medium"
        >
          {text}
        </button>
      ))}
    </fieldset>
  );
}

function Custom({ range, onPick }: { range: Ranged; onPick: (range: string) => void }) {
  const bounds = range.bounds();
  const text = (atMs: number | undefined) => (atMs === undefined ? '' : localText(atMs, range.zone));
  const [from, setFrom] = useState(() => text(bounds?.fromMs));
  const [to, setTo] = useState(() => text(bounds?.toMs));
  const [error, setError] = useState<Error | null>(null);
  const apply = () => {
    const [fromMs, toMs] = [instantOf(from, range.zone), instantOf(to, range.zone)];
    const fault = problemIn(fromMs, toMs);
    setError(fault);
    if (fault === null) onPick(between(fromMs, toMs));
  };
  return (
    <Form error={error} onSubmit={apply} className="gap-2 border-line border-t pt-3">
      <div className="grid items-start gap-2 sm:grid-cols-2">
        <Field name="from" label="From">
          <Input type="datetime-local" value={from} onChange={({ target }) => setFrom(target.value)} />
        </Field>
        <Field name="to" label="To">
          <Input type="datetime-local" value={to} onChange={({ target }) => setTo(target.value)} />
        </Field>
      </div>
      <Button type="submit" className="self-end">
        Show this range
      </Button>
    </Form>
  );
}

function problemIn(fromMs: number, toMs: number): FieldProblem | null {
  if (Number.isNaN(fromMs)) return new FieldProblem('from', 'Enter a date and a time.');
  if (Number.isNaN(toMs)) return new FieldProblem('to', 'Enter a date and a time.');
  if (fromMs === toMs) return new FieldProblem('to', 'The range is empty: it ends when it begins.');
  if (fromMs > toMs) return new FieldProblem('to', 'The range ends before it begins.');
  return fromMs > Date.now() ? new FieldProblem('from', 'This time is in the future.') : null;
}

function Zone({ range }: { range: Ranged }) {
  const zones = useId();
  const [, setFilters] = useFilters<'zone'>();
  const [text, setText] = useState(range.zone);
  const [error, setError] = useState<Error | null>(null);
  const apply = (zone: string) => {
    const fits = isZone(zone.trim());
    setError(fits ? null : new FieldProblem('zone', `There is no time zone "${zone}". Europe/Berlin or UTC is one.`));
    if (!fits || zone.trim() === range.zone) return;
    chooseZone(zone.trim());
    if (range.search.zone !== undefined) setFilters({ zone: zone.trim() });
  };
  return (
    <Form error={error} onSubmit={() => apply(text)} className="gap-1 border-line border-t pt-3">
      <Field
        name="zone"
        label="Time zone"
        hint={
          isBetweenHours(range.zone, Date.now())
            ? 'Culvert keeps sums by the hour of UTC, so a day here begins with the first full hour of UTC after midnight.'
            : 'The dashboard shows all times in this zone. This browser remembers it.'
        }
      >
        <div className="flex gap-2">
          <Input list={zones} spellCheck={false} value={text} onChange={({ target }) => setText(target.value)} />
          <datalist id={zones}>
            {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
          <Button type="submit">Set</Button>
        </div>
      </Field>
    </Form>
  );
}
