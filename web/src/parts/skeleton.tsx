/** Stands where something will. */
export function Skeleton({ className = 'h-4 w-full' }: { className?: string }) {
  return <div className={`animate-pulse rounded bg-line ${className}`} aria-hidden />;
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
