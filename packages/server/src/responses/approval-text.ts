/**
 * Writes an approval request as text into the answer. Ordinary chat programs show nothing else, and an answer that
 * stops without a word looks broken.
 */
import type { ApprovalRequest, EventPayload } from '@talaria/protocol';

const COMMAND_CHARS = 1_000;

export function approvalText(runId: string, { command, description, expires_at }: ApprovalRequest): string {
  const shown = command.length > COMMAND_CHARS ? `${command.slice(0, COMMAND_CHARS)}…` : command;
  const quoted = shown.split('\n').map((line) => `> ${line}`);
  const until = new Date(expires_at * 1000).toISOString().slice(11, 16);
  return [
    '',
    `**Approval needed** (${description}):`,
    '',
    ...quoted,
    '',
    `Answer before ${until} UTC with \`talaria approve ${runId}\`, or at \`POST /v1/runs/${runId}/approval\`.`,
    '',
    '',
  ].join('\n');
}

export function approvalAnswerText(answer: EventPayload<'approval.responded'>): string {
  const { choice, reason, message } = answer;
  if (reason === 'timeout') return 'Nobody answered in time: denied.\n\n';
  if (choice !== 'deny') return `Approved (${choice}).\n\n`;
  return message === undefined ? 'Denied.\n\n' : `Denied: ${message}\n\n`;
}
