// The names by which the pages call what the API answers.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Session = Schemas["CallerInfo"];
export type SessionBegun = Schemas["SessionBegun"];
export type Agent = Schemas["AgentInfo"];
export type AgentDetails = Schemas["AgentDetails"];
export type Approval = Schemas["Approval"];
export type Approvals = Part<Approval>;
export type AuditLine = Schemas["AuditLine"];
export type Connections = Schemas["ConnectionPage"];
export type CallFailure = Schemas["CallFailure"];
export type Draft = Schemas["DraftText"];
export type DraftNews = Schemas["DraftNews"];
export type Delta = Schemas["RunDelta"];
export type Comparison = Schemas["ExperimentDifference"];
export type Experiment = Schemas["ExperimentDetails"];
export type ExperimentLine = Schemas["ExperimentInfo"];
export type ScoreChange = Schemas["ScoreChange"];
export type Scores = Schemas["RunScores"];
export type Key = Schemas["KeyInfo"];
export type MemoryForgotten = Schemas["MemoryForgotten"];
export type MemoryPart = Schemas["MemoryPart"];
export type MemoryItem = MemoryPart["items"][number];
export type MemorySpace = Schemas["MemorySpace"];
export type Origin = Schemas["Origin"];
export type Collection = Schemas["CollectionInfo"];
export type CollectionDetails = Schemas["CollectionDetails"];
export type Document = Schemas["DocumentInfo"];
export type FoundPassages = Schemas["FoundPassages"];
export type Run = Schemas["RunInfo"];
export type RunDetails = Schemas["RunDetails"];
export type RunEvent = Schemas["RunEvent"];
export type QuoteReference = Schemas["CheckedReference"];
export type ReferenceText = Schemas["ReferenceText"];
export type Secret = Schemas["SecretInfo"];
export type SessionInfo = Schemas["SessionInfo"];
export type Tool = Schemas["ToolInfo"];
export type ToolSchema = Schemas["ToolSchema"];
export type WorkflowLine = Schemas["WorkflowInfo"];
export type WorkflowDetails = Schemas["WorkflowDetails"];
export type ReadPasted = Schemas["ReadPasted"];
export type DefinitionProblem = Schemas["DefinitionProblem"];
export type Difference = Schemas["TextDifference"];
export type Unpublished = Schemas["DefinitionUnpublished"];
export type Checked = Schemas["DefinitionChecked"] & Partial<Pick<Schemas["WorkflowChecked"], "nodes">>;
export type Imported = Schemas["ImportAnswer"];
export type Version = Schemas["DefinitionVersion"];
export type JustPublished = Schemas["DefinitionPublished"];
export type CallAnswer = Schemas["CallAnswer"];
export type CallWaits = Schemas["CallWaits"];
export type ServerLine = Schemas["DefinitionInfo"];
export type ServerOffers = Schemas["ServerOffers"];
export type PublishedText = Schemas["DefinitionText"];
export type Verdict = Schemas["AnswerBody"]["verdict"];

/** One part of a list, and what to send to get the next. */
export interface Part<T> {
  items: T[];
  next: string | null;
  count?: number | null;
}
