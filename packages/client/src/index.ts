export {
  type Approval,
  type ApprovalAnswerRequest,
  type ApprovalChoice,
  type ApprovalList,
  type ApprovalRequest,
  type Artifact,
  type ArtifactList,
  type Capabilities,
  type ChangedFile,
  type ChatApprovalRequest,
  type ChatCompletion,
  type ChatCompletionChunk,
  type ChatMessage,
  type Completion,
  type Directory,
  type DirectoryList,
  type EmbeddingList,
  type EventName,
  type FileDeleted,
  type FileList,
  type ForkedFrom,
  type ForkedSession,
  type FunctionToolRequest,
  type Grant,
  type GrantList,
  type Health,
  type HealthDetailed,
  isTerminalEvent,
  isTerminalStatus,
  type Job,
  type Model,
  type ModelList,
  type ModelOptions,
  type PendingCall,
  type ResponseEvent,
  type ResponseItem,
  type ResponseObject,
  type Run,
  type RunCall,
  type RunChanged,
  type RunCreated,
  type RunDiff,
  type RunEvent,
  type RunFailureCode,
  type RunList,
  type RunQueue,
  type RunStatus,
  type RunToolOutputs,
  type RunWebhook,
  type Session,
  type SessionAnswer,
  type SessionChatCompletion,
  type SessionChatEvent,
  type SessionList,
  type SessionMessage,
  type SessionMessageList,
  type SkillList,
  type Slot,
  type SlotArtifact,
  type SlotArtifactList,
  type SlotCall,
  type SlotList,
  type SlotResult,
  type SlotResultEvent,
  type StoredFile,
  type TerminalEvent,
  type ToolProgress,
  type Toolset,
  type ToolsetList,
  type Usage,
  type WebhookEventName,
  type WebhookMessage,
} from '@talaria/protocol';
export { describeQueue } from './describe-queue.ts';
export * from './errors.ts';
export type { ApprovalReply, ApprovalRequestEvent } from './finish-run.ts';
export type { PageQuery, Pages } from './pages.ts';
export type { ConnectionChange } from './reconnects.ts';
export type { ApprovalFilter } from './resources/approvals.ts';
export type { ArchiveQuery, ArtifactListQuery, ArtifactReadOptions } from './resources/artifacts.ts';
export type { ChatOptions, ChatParams, ChatStream } from './resources/chat.ts';
export type { CompletionParams, CompletionStream, EmbeddingParams } from './resources/completions.ts';
export type { DiffQuery } from './resources/diff.ts';
export type { FileFilter, FileReadOptions, UploadFileParams } from './resources/files.ts';
export type { CreateJobParams, PauseJobParams, UpdateJobParams } from './resources/jobs.ts';
export type { ResponseParams, ResponseStream } from './resources/responses.ts';
export type {
  CreateRunParams,
  ForkRunParams,
  RunFilter,
  RunOptions,
  RunPages,
  RunParams,
} from './resources/runs.ts';
export type { SessionOptions } from './resources/session.ts';
export type { SessionChatStream } from './resources/session-chat.ts';
export type {
  CreateSessionParams,
  ForkSessionParams,
  SessionChatOptions,
  SessionChatParams,
  SessionListQuery,
  SessionMessagesQuery,
  UpdateSessionParams,
} from './resources/sessions.ts';
export type {
  AcquireSlotParams,
  ExecuteSlotsParams,
  ReleaseSlotParams,
  SlotArtifactQuery,
  SlotResultStream,
} from './resources/slots.ts';
export type { FeedOptions, RunFeed } from './run-feed.ts';
export type { RunStream, StreamOptions } from './run-stream.ts';
export { Talaria, type TalariaOptions } from './talaria.ts';
export { type ClientTool, type ClientTools, defineTool, type ToolContext } from './tools/client-tool.ts';
export type { CallOutput } from './tools/execute-call.ts';
export type { RunWith } from './tools/parsed-output.ts';
export type { ServedCall, ServeOptions } from './tools/serve-tools.ts';
export type { Share } from './tools/share.ts';
export type { JsonSchema, StandardSchema } from './tools/standard-schema.ts';
export type { RequestOptions, ResponseHead } from './transport.ts';
export type { Uploadable } from './upload-form.ts';
