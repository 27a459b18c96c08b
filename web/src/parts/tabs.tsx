import { Tabs as Radix } from 'radix-ui';
import { type ReactNode, useEffect, useRef } from 'react';

/** Parts of a page of which one is shown. `value` belongs into the URL (`useFilters`). */
export function Tabs({
  label,
  value,
  onValue,
  tabs,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
  tabs: readonly { value: string; label: string; content: () => ReactNode }[];
}) {
  const list = useRef<HTMLDivElement>(null);
  // On a phone the one that an address names may be out of sight.
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever another one is chosen.
  useEffect(() => {
    list.current?.querySelector('[data-state=active]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [value]);
  return (
    <Radix.Root value={value} onValueChange={onValue} className="flex min-w-0 flex-col gap-4">
      <Radix.List ref={list} aria-label={label} className="flex gap-0.5 overflow-x-auto border-line border-b">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className="-mb-px h-9 whitespace-nowrap focus-visible:-outline-offset-2 border-transparent border-b-2 px-2 text-muted sm:px-3 text-sm hover:text-ink data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.value} value={tab.value} className="flex min-w-0 flex-col gap-4 outline-none">
          {tab.content()}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
