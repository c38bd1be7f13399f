/** Which commands ask first, and the tools of others. */

import { commandRuleList } from '../kinds/command-rule-list.ts';
import { choice, LONGEST_TIMER_SECONDS, seconds } from '../kinds/kinds.ts';
import { type McpServerConfig, mcpServers } from '../kinds/mcp-servers.ts';
import { define } from './setting.ts';

export const approvalsSettings = {
  approvalTimeoutSeconds: define({
    env: 'TALARIA_APPROVAL_TIMEOUT_SECONDS',
    key: 'approval_timeout_seconds',
    kind: seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS }),
    default: 300,
    group: 'Sandbox and approvals',
    about: 'how long an approval waits for an answer before it counts as denied',
  }),
  approvalsIsolated: define({
    env: 'TALARIA_APPROVALS_ISOLATED',
    key: 'approvals.isolated',
    kind: choice(['ask', 'skip']),
    default: 'ask',
    group: 'Sandbox and approvals',
    about: 'whether gated commands ask first if the sandbox is isolated',
  }),
  approvalsUnisolated: define({
    env: 'TALARIA_APPROVALS_UNISOLATED',
    key: 'approvals.unisolated',
    kind: choice(['ask', 'skip']),
    default: 'ask',
    group: 'Sandbox and approvals',
    about: 'whether every command asks first if no isolation works',
  }),
  approvalsAllow: define({
    env: 'TALARIA_APPROVALS_ALLOW',
    key: 'approvals.allow',
    kind: commandRuleList(),
    default: [] as readonly string[],
    defaultText: 'none',
    group: 'Sandbox and approvals',
    about: 'commands that run without a question, except those that never run (docs/approvals.md)',
  }),
  approvalsAsk: define({
    env: 'TALARIA_APPROVALS_ASK',
    key: 'approvals.ask',
    kind: commandRuleList(),
    default: [] as readonly string[],
    defaultText: 'none',
    group: 'Sandbox and approvals',
    about: 'commands that always ask first',
  }),
  approvalsDeny: define({
    env: 'TALARIA_APPROVALS_DENY',
    key: 'approvals.deny',
    kind: commandRuleList(),
    default: [] as readonly string[],
    defaultText: 'none',
    group: 'Sandbox and approvals',
    about: 'commands that the gate refuses without a question',
  }),
  mcpServers: define({
    env: 'TALARIA_MCP_SERVERS',
    key: 'mcp_servers',
    kind: mcpServers(),
    default: [] as readonly McpServerConfig[],
    defaultText: 'none',
    group: 'Sandbox and approvals',
    about: 'MCP servers whose tools the agent gets, as JSON or as an object in the file; see docs/mcp.md',
  }),
};
