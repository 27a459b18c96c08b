/** Takes the place of what is loading. */
export function Skeleton({ className = 'h-4 w-full' }: { className?: string }) {
  return <div className={`animate-pulse rounded bg-line ${className}`} aria-hidden />;
}

/** The same, for a part of a page that is on its way; read aloud. */
export function Pending({ className }: { className?: string }) {
  return (
    <div role="status" aria-label="Loading">
      <Skeleton className={className} />
    </div>
  );
}

const widths = ['w-2/3', 'w-1/2', 'w-3/5', 'w-2/5', 'w-1/2', 'w-3/4'];

export function SkeletonRows() {
  return (
    <div className="flex flex-col gap-4 p-4" role="status" aria-label="Loading">
      {widths.map((width, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they never change.
        <Skeleton key={at} className={`h-3 ${width}`} />
      ))}
    </div>
  );
}
