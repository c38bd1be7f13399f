/** Marks what the model said before a restart and said again after it. */
export function Taken() {
  return (
    <span
      class="taken-mark"
      title="The server was restarted in the middle of this step. The model repeats it below."
    >
      ↻ repeated below
    </span>
  );
}
