/**
 * @file nvtxa.h
 * All of libnvtxanalysis. The modules, in the direction that data takes:
 * record.h (a command to a run directory), manifest.h (what was run), export.h (trace to SQLite
 * export or reports), ranges.h and gpu.h
 * (those to tables of ranges and of GPU operations), stats.h (tables to reports), analysis.h
 * (tables to scopes and iterations), json.h (analysis to analysis.json). And doctor.h: what stands
 * in the way of all that.
 */
#ifndef NVTXA_NVTXA_H
#define NVTXA_NVTXA_H

#include <nvtxa/analysis.h>
#include <nvtxa/base.h>
#include <nvtxa/doctor.h>
#include <nvtxa/export.h>
#include <nvtxa/gpu.h>
#include <nvtxa/json.h>
#include <nvtxa/manifest.h>
#include <nvtxa/ranges.h>
#include <nvtxa/record.h>
#include <nvtxa/stats.h>

#endif
