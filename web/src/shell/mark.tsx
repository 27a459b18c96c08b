/** Culvert's sign: water under a road. */
export function Mark({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" className={className} aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <g fill="none" stroke="var(--accent-ink)">
        <path d="M6 25V16a10 10 0 0 1 20 0v9" strokeWidth="3" />
        <path d="M11 25v-8a5 5 0 0 1 10 0v8" strokeWidth="2.5" strokeOpacity="0.65" />
      </g>
    </svg>
  );
}
