/** A square with the initials of a type of providers, in no colour: those say how a provider does. Its name is next to it. */
export function ProviderMark({ type }: { type: string }) {
  const words = type.split(/[^a-z0-9]+/i).filter((word) => word !== '');
  const initials = words.length > 1 ? words.slice(0, 2).map(([first]) => first) : type.slice(0, 2);
  return (
    <span
      aria-hidden
      className="inline-flex size-7 shrink-0 items-center justify-center rounded-md border border-line bg-ground font-semibold text-muted text-xs uppercase"
    >
      {initials}
    </span>
  );
}
